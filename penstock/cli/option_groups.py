"""Options of several commands: for the rows that are written, the ranks of trainings, and predictions of a fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError
from penstock.core.several import settle_several

if TYPE_CHECKING:
    from penstock.dataset.outputs.destination import Destination
    from penstock.spmd import SpmdOptions

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


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """Options of the ranks of a training.

    Parameters
    ----------
    world_size : int, optional
        Ranks of a training; as many as run at once.
    timeout : float, optional
        Seconds until a silent rank is taken for lost.
    max_restarts : int, optional
        How often a training that lost a rank starts again.
    checkpoint_dir : path or URL, optional
        Where checkpoints outlive the run.
    elastic : bool
        Begin on the workers that are there, and begin again from a checkpoint on more.
    allow_insecure : bool
        Let ranks of XGBoost listen on all addresses.
    """

    world_size: int | None = None
    timeout: float | None = field(default=None, metadata={"show_default": "120.0"})
    max_restarts: int | None = field(default=None, metadata={"show_default": "2"})
    checkpoint_dir: str | Path | None = None
    elastic: bool = field(default=False, metadata={"option": "--elastic/--no-elastic"})
    allow_insecure: bool = field(default=False, metadata={"option": "--allow-insecure/--no-allow-insecure"})

    @property
    def spmd(self) -> "SpmdOptions":
        """How trainers run; ConfigError for a value that `SpmdOptions` refuses."""
        from penstock.spmd import SpmdOptions

        names = [each.name for each in fields(RankOptions)]
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return SpmdOptions(**given)


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """Options of the prediction of a fit.

    Parameters
    ----------
    workers : str, optional
        Predict the time on so many tasks at once: 1,2,4,8.
    calibration : path or URL, optional
        With workers, the file of penstock calibrate; unless given, records of fits of the pipeline in runs are taken.
    machine : str, optional
        With workers, a type of machine that they run on.
    machines : path, optional
        A YAML file of types of machines; machines.yaml of conf unless given.

    Raises
    ------
    ConfigError
        There is more about workers, and no number of them.
    """

    workers: str | None = None
    calibration: str | Path | None = None
    machine: str | None = None
    machines: str | Path | None = None

    def __post_init__(self) -> None:
        settle_several(self)
        for name in ("calibration", "machine", "machines"):
            if getattr(self, name) is not None and self.workers is None:
                raise ConfigError(f"{name} is given, and no number of workers", hint="Add --workers 1,2,4,8.")
