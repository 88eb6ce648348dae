"""What writes one part of an output: the rows of one fragment, as one file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
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
