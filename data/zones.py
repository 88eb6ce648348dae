"""Write the zones of the synthetic trips in the schema of TLC's lookup table: `LocationID`, `Borough` and `Zone`.

The boroughs are those of the made-up map on which `trips.py` has its zones: Manhattan in the middle, Queens east of it,
the Bronx north-west, Brooklyn south-west, and the airport that lies outside.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from _write import Layout, write_directory
from trips import JFK, LAGUARDIA, MANHATTAN_MILES, NEWARK, ZONES, make_city

SCHEMA = pa.schema([("LocationID", pa.int64()), ("Borough", pa.string()), ("Zone", pa.string())])
AIRPORT_NAMES = {NEWARK: "Newark Airport", JFK: "JFK Airport", LAGUARDIA: "LaGuardia Airport"}


def table() -> pa.Table:
    """Return a row a zone, by `LocationID`."""
    places = make_city().places
    numbers = np.arange(1, ZONES + 1)
    east, north = places.T > 0
    outer = np.where(east, "Queens", np.where(north, "Bronx", "Brooklyn"))
    boroughs = np.where(np.hypot(*places.T) < MANHATTAN_MILES, "Manhattan", outer)
    boroughs = np.where(numbers == NEWARK, "EWR", boroughs)
    names = [AIRPORT_NAMES.get(number, f"Zone {number}") for number in numbers.tolist()]
    return pa.table([pa.array(numbers), pa.array(boroughs.tolist()), pa.array(names)], schema=SCHEMA)


def write(out: str | Path, *, format: str = "csv", overwrite: bool = False) -> list[Path]:
    """Write the table to the directory ``out``, and return its files."""
    zones = table()
    return write_directory(out, [zones], SCHEMA, zones.num_rows, Layout(format=format, overwrite=overwrite))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="directory to write, new or empty")
    parser.add_argument("--format", choices=("csv", "parquet", "jsonl"), default="csv")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    options = parser.parse_args()
    try:
        paths = write(options.out, format=options.format, overwrite=options.overwrite)
    except FileExistsError as error:
        parser.error(str(error))
    print(f"{len(paths)} files, {sum(path.stat().st_size for path in paths):,} bytes in {options.out}")


if __name__ == "__main__":
    main()
