"""What stages of inference share: columns to batches of a fixed size, through a network, to a column of numbers."""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ArtifactError, ConfigError, DataValueError, PenstockError
from penstock.core.selectors import is_numeric, resolve
from penstock.frames import Kind, matrices
from penstock.stages.base import Fitted, SelectedColumns, Tags, with_fields, wrong_type
from penstock.stages.parameter_checks import in_range, wrong_parameter

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Network:
    """A network that was loaded, on its device.

    Attributes
    ----------
    run : callable
        Takes one float32 batch (NumPy, or CuPy on a GPU) and returns what comes out, as NumPy.
    takes : sequence of int or None, or None
        The shape of a batch as the file says it, None for a dimension that is open; None when no file says it.
    """

    run: Callable[[Any], np.ndarray]
    takes: Sequence[int | None] | None = None


@dataclass(frozen=True)
class Inference(SelectedColumns):
    """What stages of inference share.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        What the network takes: one column of lists of numbers, or columns of numbers.
    shape : sequence of int, optional
        The shape of one row of the input, ``(3, 224, 224)`` say; what the file says, or one number a column, unless
        given. A list holds its elements in C order.
    prediction : str
        Name of the column of results.
    output_size : int, optional
        How many numbers come out for a row; found by running the network once on zeros, unless given.
    batch_size : int
        Rows that go through the network at once. The last batch is filled up with zeros, so that what becomes of a row
        does not depend on how many rows there are.
    """

    _: KW_ONLY
    shape: Shape | None = None
    prediction: str = "prediction"
    output_size: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    batch_size: int = field(default=32, metadata=in_range(least=1, whole=True))

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape is not None:
            object.__setattr__(self, "shape", tuple(self.shape))
            if not all(type(size) is int and size > 0 for size in self.shape):
                raise wrong_parameter(self, "shape", "positive integers")

    @abstractmethod
    def _read(self) -> Fitted:
        """Return what is kept of the files, as it is stored with the model."""

    @abstractmethod
    def _load(self, fitted: Fitted, kind: Kind) -> Network:
        """Return the network on a device, loaded once in a process."""

    def bind(self, schema: pa.Schema) -> Self:
        """Return the stage with its columns, the shape of a row and what comes out; the files are read.

        Raises
        ------
        SchemaError, ConfigError
            The columns or the shape do not fit the network.
        """
        names = resolve(self.columns, schema, self.title)
        self._check_columns(schema, names)
        network = self._load(self._read(), "cpu")
        shape = self._row_shape(network, None if _is_list(schema.field(names[0]).type) else len(names))
        made = _try(network, (self.batch_size, *shape), self.title)
        if self.output_size not in (None, made):
            problem = f"{self.title} gives {made} number(s) for a row, but output_size is {self.output_size}"
            raise ConfigError(problem, hint=f"Pass output_size={made}, or leave it out.", stage=self.title)
        return dataclasses.replace(self, columns=names, shape=shape, output_size=made)

    def _check_columns(self, schema: pa.Schema, names: Sequence[str]) -> None:
        for name in names:
            kind = schema.field(name).type
            if not is_numeric(kind) and not (_is_list(kind) and len(names) == 1):
                hint = "Convert it before, as DecodeImage does with images."
                raise wrong_type(self.title, name, kind, "numeric columns, or one of lists of numbers", hint)

    def _row_shape(self, network: Network, columns: int | None) -> Shape:
        """Return the shape of a row: that given, or what the file and the number of columns leave no choice about."""
        takes = None if network.takes is None else list(network.takes)
        if takes is not None and takes[:1] not in ([None], [self.batch_size]):
            raise ConfigError(
                f"the network takes batches of {takes[0]} row(s) only, but batch_size is {self.batch_size}",
                hint=f"Pass batch_size={takes[0]}, or export the network with an open first dimension.",
                stage=self.title,
            )
        shape = self.shape or _shape_of(None if takes is None else takes[1:], columns)
        if shape is None:
            raise ConfigError(
                f"{self.title} cannot tell the shape of a row", hint="Pass shape=(3, 224, 224), say.", stage=self.title
            )
        if takes is not None and not _fits(shape, takes[1:]):
            shown = ", ".join("any" if size is None else str(size) for size in takes[1:])
            problem = f"the network takes rows of shape ({shown}), and these are of shape {shape}"
            raise ConfigError(problem, hint="Pass the columns and the shape that it was made for.", stage=self.title)
        if columns is not None and math.prod(shape) != columns:
            problem = f"a row of shape {shape} has {math.prod(shape)} numbers, but there are {columns} column(s)"
            raise ConfigError(problem, hint="Pass other columns, or another shape.", stage=self.title)
        return shape

    def outputs(self) -> tuple[str, ...]:
        return (self.prediction,)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        kind = pa.float32() if self.output_size == 1 else pa.list_(pa.float32())
        return with_fields(schema, {self.prediction: kind})

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        return self._read()

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        kind = frames.kind_of(frame)
        values = self._matrix(frame)
        absent = np.isnan(values).any(axis=1)
        if bool(absent.any()):
            values = np.where(absent[:, None], 0, values)
        made = self._scored(fitted, values, kind)
        missing = matrices.to_host(absent) | np.isnan(made).any(axis=1)
        column = made[:, 0] if self.output_size == 1 else made
        return frame.with_columns(matrices.masked(frame, self.prediction, column, missing))

    def _matrix(self, frame: nw.DataFrame) -> Any:
        """Return the rows as a float32 matrix, NaN for null; DataValueError for what no network can take."""
        names = self.inputs()
        if isinstance(frame.schema[names[0]], nw.List):
            return self._unpacked(frame, names[0])
        values = matrices.to_matrix(frame, names)
        for name, count in zip(names, matrices.count_infinite(values), strict=True):
            if count:
                raise _bad(name, f"{count} value(s) infinite, or too large for float32", _infinite(nw.col(name)))
        return values

    def _unpacked(self, frame: nw.DataFrame, name: str) -> Any:
        wanted = math.prod(self.shape or ())
        lengths = matrices.list_lengths(frame, name)
        wrong = lengths[(lengths != wanted) & (lengths >= 0)]
        if len(wrong):
            problem = f"{len(wrong)} list(s) not of {wanted} numbers, as shape {self.shape} asks for: {wrong[0]}, say"
            raise _bad(name, problem, nw.col(name).list.len() != wanted, "Make all lists of one length.")
        values = matrices.lists_to_matrix(frame, name, wanted)
        if count := sum(matrices.count_infinite(values.reshape(-1, 1))):
            worst = nw.max_horizontal(_infinite(nw.col(name).list.max()), _infinite(nw.col(name).list.min()))
            raise _bad(name, f"{count} number(s) in its lists are infinite, or too large for float32", worst)
        return values

    def _scored(self, fitted: Fitted, values: Any, kind: Kind) -> np.ndarray:
        try:
            return self._through(self._load(fitted, kind), values, kind)
        except (PenstockError, MemoryError):
            raise
        except Exception as error:  # PyTorch and ONNX Runtime have their own
            problem = f"the stored network cannot be run: {type(error).__name__}: {str(error)[:300]}"
            hint = "It ran when it was fitted: copy or fit the model again."
            raise ArtifactError(problem, hint=hint, stage=self.title) from error

    def _through(self, network: Network, values: Any, kind: Kind) -> np.ndarray:
        """Return the results of all rows, of shape (n_rows, output_size)."""
        size = self.batch_size
        made = np.empty((len(values), self.output_size or 1), dtype=np.float32)
        for start in range(0, len(values), size):
            batch = values[start : start + size]
            rows = len(batch)
            if rows < size:
                batch = matrices.to_device(np.zeros((size, values.shape[1]), dtype=np.float32), kind)
                batch[:rows] = values[start:]
            made[start : start + rows] = network.run(batch.reshape(size, *self.shape or ())).reshape(size, -1)[:rows]
        return made


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
    )


def _shape_of(takes: Sequence[int | None] | None, columns: int | None) -> Shape | None:
    """Return the only shape that a file and the number of columns allow."""
    if columns is not None and (takes is None or len(takes) == 1):
        return (columns,)
    return None if takes is None or None in takes else tuple(size for size in takes if size is not None)


def _fits(shape: Shape, takes: Sequence[int | None]) -> bool:
    return len(shape) == len(takes) and all(want in (None, have) for have, want in zip(shape, takes, strict=True))


@functools.lru_cache(maxsize=4)
def _try(network: Network, shape: Shape, stage: str) -> int:
    """Return how many numbers come out for a row, from a batch of zeros."""
    try:
        made = network.run(np.zeros(shape, dtype=np.float32))
    except PenstockError as error:
        raise error.at(stage=stage) from error.__cause__
    except Exception as error:  # PyTorch and ONNX Runtime have their own
        problem = f"the network does not take a batch of shape {shape}: {str(error).splitlines()[0]:.300}"
        raise ConfigError(problem, hint="Pass the shape of one row, without the batch.", stage=stage) from error
    if not made.ndim or made.shape[0] != shape[0] or not made.size:
        problem = f"the network makes {made.shape} of a batch of {shape}, expected {shape[0]} rows first"
        raise ConfigError(problem, stage=stage)
    return made.size // shape[0]


def _infinite(value: nw.Expr) -> nw.Expr:
    return value.cast(nw.Float32).abs() == float("inf")


def _bad(
    column: str, problem: str, predicate: nw.Expr, hint: str = "Clip such values, or set them to null."
) -> Exception:
    return DataValueError(f"column {column!r}: {problem}", hint=hint, column=column, predicate=predicate)
