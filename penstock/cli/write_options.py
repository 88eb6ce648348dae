"""How the rows of a job are written, as its command is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.dataset.outputs.destination import Destination

_NAMES: Any = {"metavar": "COLUMN[,COLUMN]"}


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """Where rows go and how they lie there: what `Dataset.write` takes.

    Parameters
    ----------
    out : path
        Where the rows go.
    overwrite : bool
        Replace outputs that are there.
    out_format : str
        parquet, csv, jsonl, orc, avro, arrow, delta, iceberg, or one of your own: what is written.
    mode : str
        error, overwrite, append, overwrite_partitions or merge: what becomes of an output that is there.
    partition_by : sequence of str
        Columns by whose values rows lie in folders.
    keys : sequence of str
        Of merge, the columns that tell rows apart.
    sort_by : sequence of str
        Columns that rows are sorted by within each file.
    max_rows_per_file : int, optional
        Cut parts into files of so many rows.
    compression : str, optional
        As the format has it: zstd, say.
    run_id : str, optional
        Name of the run, which appends the same rows once.
    quarantine : path, optional
        Where rows that are set aside go; beside the output unless given.
    out_options : sequence of str
        An option of the format's own, as delimiter of csv.
    """

    out: str | Path
    overwrite: bool = False
    out_format: str = "parquet"
    mode: str = "error"
    partition_by: Sequence[str] = field(default=(), metadata=_NAMES)
    keys: Sequence[str] = field(default=(), metadata=_NAMES)
    sort_by: Sequence[str] = field(default=(), metadata=_NAMES)
    max_rows_per_file: int | None = None
    compression: str | None = None
    run_id: str | None = None
    quarantine: str | Path | None = None
    out_options: Sequence[str] = field(default=(), metadata={"option": "--out-option", "metavar": "NAME=VALUE"})

    @property
    def destination(self) -> "Destination":
        """Where the rows go; ConfigError for what `Dataset.write` refuses before it knows them."""
        from penstock.cli.out_options import read_out_options
        from penstock.dataset.outputs.destination import Destination

        own = [each.name for each in fields(WriteOptions)]
        same = ("mode", "overwrite", "max_rows_per_file", "compression", "run_id", "quarantine")
        given: dict[str, Any] = {name: getattr(self, name) for name in same}
        given |= {name: split_names(getattr(self, name)) for name in ("partition_by", "keys", "sort_by")}
        given |= read_out_options(self.out_options, self.out_format, own)
        return Destination.of(self.out, format=self.out_format, **given)


def split_names(texts: Sequence[str]) -> list[str]:
    """Return the names in texts, several of which may stand in one, by commas.

    Examples
    --------
    >>> split_names(["country", "device, hour"])
    ['country', 'device', 'hour']
    """
    return [name.strip() for text in texts for name in text.split(",")]
