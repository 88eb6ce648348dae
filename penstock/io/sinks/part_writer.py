"""What writes one part of an output: the rows of one fragment, as one file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError, check_one_of
from penstock.io.sinks.strict_json import Json

_HINT = "Write Parquet, leave the column out by select, or make it text or numbers in a stage."


@dataclass(frozen=True)
class PartWriter(ABC):
    """Writes the parts of one output; made once, for its schema, and sent to the workers.

    A dataclass: what `dataset.write` takes for the format are its fields besides `schema`.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of every part.

    Attributes
    ----------
    kind : str
        What the manifest says that the files are.
    suffix : str
        How their names end.

    Raises
    ------
    ConfigError
        The format cannot hold a type of the schema.
    """

    schema: pa.Schema

    kind: ClassVar[str]
    suffix: ClassVar[str]

    @property
    def ending(self) -> str:
        """How the names of the parts end: `suffix`, and that of the compression where it has one."""
        return self.suffix

    @property
    def reading(self) -> dict[str, Json]:
        """What ``engine.read`` has to be told besides the schema, so that it reads what was written."""
        return {}

    @abstractmethod
    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write the rows of a frame, which conforms to the schema, to a file that is not there yet.

        Raises
        ------
        DataValueError
            A value cannot be written so that it is read again as it is.
        OSError
            The file system refused.
        """


def check_types(
    schema: pa.Schema, can_hold: Callable[[pa.DataType], bool], form: str, *, verb: str = "is", hint: str = _HINT
) -> None:
    """Raise ConfigError for a type of which a text format cannot hold every value."""
    for field in schema:
        if not can_hold(field.type):
            problem = f"column {field.name!r} {verb} {field.type}, which {form} cannot hold"
            raise ConfigError(problem, hint=hint, column=field.name)


Stored = Callable[[pa.DataType], pa.DataType | None]


@dataclass(frozen=True)
class ArrowTableWriter(PartWriter):
    """Writes the rows of a part as one table, null in place of NaN.

    Parameters
    ----------
    compression : str
        One of `compressions`.

    Attributes
    ----------
    form : str
        What messages call the format.
    """

    compression: str = "zstd"

    form: ClassVar[str]
    compressions: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        check_one_of("compression", self.compression, self.compressions)
        check_types(self.schema, lambda kind: self.stored_type(kind) is not None, self.form)

    @staticmethod
    @abstractmethod
    def stored_type(kind: pa.DataType) -> pa.DataType | None:
        """Return as what the format stores a type; None where it has none that holds all of its values."""

    @abstractmethod
    def write(self, table: pa.Table, sink: BinaryIO) -> None:
        """Write a table of stored types to an open file."""

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part."""
        table = frames.to_arrow(frames.nan_to_null(frame), self.schema)
        columns = [cast_to_stored(table[field.name], self.stored_type(field.type), field) for field in self.schema]
        with open(path, "xb") as sink:
            self.write(pa.table(columns, self.schema.names), sink)


def cast_to_stored(values: pa.ChunkedArray, kind: pa.DataType | None, field: pa.Field) -> pa.ChunkedArray:
    """Return the values of a column in the type that they are stored in; DataValueError where it does not hold one."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        raise DataValueError(
            f"column {field.name!r} is {field.type}, stored as {kind}, which does not hold all of its values: {error}",
            hint="Leave such rows out, round them before, or write Parquet.",
            column=field.name,
        ) from error


def stored_inside(kind: pa.DataType, stored: Stored) -> pa.DataType | None:
    """Return a type with what is inside of its lists, structs and maps as `stored` has it; None where that is None.

    Examples
    --------
    >>> stored_inside(pa.list_(pa.int8()), lambda kind: pa.int32())
    ListType(list<item: int32>)
    """
    if pa.types.is_list(kind):
        item = stored_inside(kind.value_type, stored)
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(kind):
        fields = {field.name: stored_inside(field.type, stored) for field in kind}
        return None if not fields or None in fields.values() else pa.struct(list(fields.items()))
    if pa.types.is_map(kind):
        key, item = stored_inside(kind.key_type, stored), stored_inside(kind.item_type, stored)
        return None if key is None or item is None else pa.map_(key, item)
    return stored(kind)
