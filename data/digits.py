"""Write scikit-learn's handwritten digits: 1,797 pictures of 8 x 8 pixels, as a table or as PNG files.

The table has a column a pixel, ``p0`` to ``p63`` row by row, from 0 to 1, and ``label``, the digit. The files are
``<label>/<number>.png`` in greys, as a folder of pictures usually comes. The pictures are the test set of E. Alpaydin
and C. Kaynak, "Optical recognition of handwritten digits", UCI Machine Learning Repository, 1998.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from _write import Layout, write_directory
from sklearn.datasets import load_digits

PIXELS = tuple(f"p{place}" for place in range(64))
SCHEMA = pa.schema([*((name, pa.float32()) for name in PIXELS), ("label", pa.int32())])
_DARKEST = 16


def table() -> pa.Table:
    """Return the digits as a table of ``SCHEMA``, in scikit-learn's order."""
    pixels, labels = load_digits(return_X_y=True)
    scaled = (pixels / _DARKEST).astype(np.float32)
    return pa.table([*scaled.T, labels.astype(np.int32)], schema=SCHEMA)


def write(out: str | Path, *, rows_per_file: int = 500, overwrite: bool = False) -> list[Path]:
    """Write the table to the directory ``out`` as Parquet, and return its files."""
    layout = Layout(rows_per_file=rows_per_file, row_group_rows=rows_per_file, overwrite=overwrite)
    digits = table()
    return write_directory(out, [digits], SCHEMA, digits.num_rows, layout)


def write_images(out: str | Path, most: int | None = None) -> list[Path]:
    """Write the first ``most`` digits, or all, as ``<label>/<number>.png`` into the directory ``out``.

    Raises
    ------
    FileExistsError
        There is something in the directory.
    """
    from PIL import Image

    out = Path(out)
    if out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out} is a directory with something in it, expected a new or empty one")
    digits = load_digits()
    paths = []
    for number, (pixels, label) in enumerate(zip(digits.images[:most], digits.target[:most], strict=True)):
        path = out / str(label) / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.round(pixels * 255 / _DARKEST).astype(np.uint8)).save(path)
        paths.append(path)
    return paths


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="directory to write, new or empty")
    parser.add_argument("--format", choices=("parquet", "png"), default="parquet")
    parser.add_argument("--overwrite", action="store_true", help="replace a table that is there")
    options = parser.parse_args()
    try:
        paths = (
            write_images(options.out) if options.format == "png" else write(options.out, overwrite=options.overwrite)
        )
    except FileExistsError as error:
        parser.error(str(error))
    print(f"{len(paths)} files, {sum(path.stat().st_size for path in paths):,} bytes in {options.out}")


if __name__ == "__main__":
    main()
