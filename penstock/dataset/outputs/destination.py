"""Where the rows of a dataset go, and how they lie there: all that `Dataset.write` is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from penstock.core.errors import ConfigError
from penstock.core.locations import read_location
from penstock.dataset.outputs.placement import Placement
from penstock.io.formats import Format, find_format
from penstock.io.formats.table_format import TableFormat

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class Destination:
    """What `Dataset.write` is told; the same for the command line, for a catalog and for Python.

    Parameters
    ----------
    path : str
    format : Format
    placement : Placement
    options : mapping
        The format's own.
    quarantine : str, optional
        Beside the output unless given.
    storage_options : mapping
    rules : sequence of rule, or path
        What the rows are checked by as they are written.
    """

    path: str
    format: Format[Any]
    placement: Placement
    options: Mapping[str, Any]
    quarantine: str | None
    storage_options: Mapping[str, Any] = field(repr=False)
    rules: Any = ()

    @classmethod
    def of(
        cls,
        path: str | Path,
        *,
        format: str = "parquet",
        mode: str = "error",
        overwrite: bool = False,
        partition_by: str | Sequence[str] = (),
        keys: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        max_rows_per_file: int | None = None,
        compression: str | None = None,
        run_id: str | None = None,
        quarantine: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        rules: Any = (),
        **options: Any,
    ) -> Self:
        """Return where rows go; parameters are those of `Dataset.write`, and ConfigError says what is wrong in them."""
        kind = find_format(format)
        if overwrite and mode not in ("error", "overwrite"):
            raise ConfigError(f"overwrite=True and mode={mode!r} ask for two things", hint="Leave overwrite out.")
        placement = Placement(
            "overwrite" if overwrite else mode, partition_by, keys, sort_by, max_rows_per_file, run_id
        )
        return cls(
            path=read_location(path, "target"),
            format=kind,
            placement=placement,
            options=options if compression is None else {**options, "compression": compression},
            quarantine=None if quarantine is None else read_location(quarantine, "quarantine"),
            storage_options=dict(storage_options or {}),
            rules=rules,
        )

    def check_rules(self, dataset: Dataset) -> None:
        """Raise what `checked` raises before it reads rows."""
        if _are_given(self.rules):
            import_module("penstock.rules.in_pass").check_suits(dataset, self.rules)

    @property
    def table_format(self) -> TableFormat[Any] | None:
        """The format of a table that keeps a log of its own; None where the output is a directory with a manifest."""
        return self.format if isinstance(self.format, TableFormat) else None


def checked(dataset: Dataset, rules: Any) -> Dataset:
    """Return a dataset whose rows are checked as they are written; itself where there are no rules.

    Raises
    ------
    ConfigError, SchemaError
        A rule is none, or does not suit the columns.
    """
    if not _are_given(rules):
        return dataset
    return cast("Dataset", import_module("penstock.rules.in_pass").checked(dataset, rules))


def _are_given(rules: Any) -> bool:
    return not isinstance(rules, list | tuple) or bool(rules)


def beside(path: str) -> str:
    """Return where rows that are set aside go, unless that is given."""
    return f"{path.rstrip('/')}.quarantine"
