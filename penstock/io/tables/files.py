"""Files of a table as its log lists them: the columns in them, under other names or by number, and their pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import IncompleteInputError, SchemaDriftError
from penstock.io.fragments import Piece
from penstock.io.sources.files import InputFile, Storage

FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class TableColumn:
    """A column of a table, or a field inside one, as its files store it.

    Parameters
    ----------
    name : str
        In the table.
    names : tuple of str
        In the files; those that number their fields are searched by `number`.
    number : int, optional
    inner : tuple of TableColumn
        The fields of a struct, the items of a list, the keys and values of a map.
    default : object
        The value in files that were written before there was the column.
    """

    name: str
    names: tuple[str, ...]
    number: int | None = None
    inner: tuple[TableColumn, ...] = ()
    default: Any = None

    @classmethod
    def of(
        cls, field: pa.Field, *, names: Mapping[int, tuple[str, ...]] | None = None, name_key: bytes | None = None
    ) -> TableColumn:
        """Return the column of an Arrow field.

        Parameters
        ----------
        field : pyarrow.Field
        names : mapping of int to tuple of str, optional
            Fields are numbered in their metadata; the names that files without numbers give them.
        name_key : bytes, optional
            The key in the metadata of a field that says its name in the files; it is `field`'s own without it.
        """
        metadata = field.metadata or {}
        inner = tuple(cls.of(each, names=names, name_key=name_key) for each in _inner(field.type))
        if names is not None and FIELD_ID in metadata:
            number = int(metadata[FIELD_ID])
            return cls(field.name, names.get(number, ()), number, inner)
        stored = metadata.get(name_key, field.name.encode()) if name_key else field.name.encode()
        return cls(field.name, (stored.decode(),), inner=inner)

    def find(self, fields: Iterable[pa.Field]) -> pa.Field | None:
        """Return the one of the fields of a file that is this column, None where there is none.

        Examples
        --------
        >>> fields = [pa.field("col-1", pa.int64()), pa.field("x", pa.int64(), metadata={FIELD_ID: "7"})]
        >>> TableColumn("x", ("col-1",)).find(fields).name, TableColumn("y", (), 7).find(fields).name
        ('col-1', 'x')
        """
        numbered = None if self.number is None else {int(n): f for f in fields if (n := _number(f)) is not None}
        if numbered:
            return numbered.get(self.number or 0)
        return next((field for field in fields if field.name in self.names), None)

    def lacks_numbers(self, fields: Iterable[pa.Field]) -> bool:
        """Return whether the fields of a file have no numbers to find this column by."""
        return all(_number(field) is None for field in fields)

    def stored_as(self, kind: pa.DataType) -> bool:
        """Return whether a type of a file has the same fields, in this order and under these names."""
        fields = _inner(kind)
        if pa.types.is_struct(kind):
            if [field.name for field in fields] != [each.name for each in self.inner]:
                return False
            if any(each.find(fields) is not field for each, field in zip(self.inner, fields, strict=True)):
                return False
        return all(each.stored_as(field.type) for each, field in zip(self.inner, fields, strict=True))

    def arrange(self, values: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        """Return the values of a file, of type `kind`, with the fields of the column: those that it lacks are null.

        Raises
        ------
        SchemaDriftError
            Fields are changed inside a map.
        """
        if self.stored_as(kind):
            return values
        if pa.types.is_struct(kind):
            return self._arrange_struct(values, kind, path)
        if pa.types.is_list(kind):
            return self._arrange_list(values, kind, path)
        raise SchemaDriftError(
            f"column {self.name!r} is {kind} in {path}, and other fields of it are in the table",
            hint="Rewrite the table's files with its own tool, or read the other columns.",
            path=path,
            column=self.name,
        )

    def _arrange_struct(self, values: pa.StructArray, kind: pa.StructType, path: str) -> pa.Array:
        fields, children = _inner(kind), values.flatten()
        arranged = []
        for each in self.inner:
            field = each.find(fields)
            if field is None:
                arranged.append(pa.nulls(len(values)) if each.default is None else pa.repeat(each.default, len(values)))
            else:
                arranged.append(each.arrange(children[fields.index(field)], field.type, path))
        return pa.StructArray.from_arrays(arranged, [each.name for each in self.inner], mask=values.is_null())

    def _arrange_list(self, values: pa.ListArray, kind: pa.ListType, path: str) -> pa.Array:
        lengths = pc.fill_null(pc.list_value_length(values), 0)
        offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy())])
        starts = pa.array(offsets, pa.int32(), mask=np.append(values.is_null().to_numpy(zero_copy_only=False), False))
        return pa.ListArray.from_arrays(starts, self.inner[0].arrange(values.flatten(), kind.value_type, path))


def with_defaults(columns: Sequence[TableColumn], defaults: Mapping[int, Any]) -> tuple[TableColumn, ...]:
    """Return columns, and the fields inside them, with the values of those that files lack, by their numbers."""
    return tuple(
        replace(each, default=defaults.get(each.number or 0), inner=with_defaults(each.inner, defaults))
        for each in columns
    )


def _inner(kind: pa.DataType) -> list[pa.Field]:
    return [kind.field(place) for place in range(kind.num_fields)]


def _number(field: pa.Field) -> bytes | None:
    return (field.metadata or {}).get(FIELD_ID)


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """A file of a table.

    Parameters
    ----------
    path : str
    size : int
        In bytes.
    rows : int
        That are stored in it.
    mtime : float
        When it was added, as the log says, in seconds; 0.0 where it does not.
    keys : tuple of (str, object)
        Columns that have one value in the whole file, and these values.
    deleted : numpy.ndarray
        The numbers of the rows that are deleted, ascending, from 0.
    """

    path: str
    size: int
    rows: int
    mtime: float = 0.0
    keys: tuple[tuple[str, Any], ...] = ()
    deleted: np.ndarray

    def pieces(self, most: int) -> Iterator[TablePiece]:
        """Yield the rows that are not deleted, in pieces of at most `most` rows, as even as can be."""
        live = self.rows - len(self.deleted)
        count = -(-live // most)
        bounds = [live * place // count for place in range(count + 1)] if count else []
        for first, end in itertools.pairwise(bounds):
            yield TablePiece(
                self.path,
                first,
                end - first,
                self.size,
                self.mtime,
                keys=self.keys,
                left_out=self.deleted.astype("<i8").tobytes(),
                stored=self.rows,
            )


@dataclass(frozen=True)
class TablePiece(Piece):
    """Rows of a file of a table, counted without those that are deleted; ``stored`` is how many the file has."""

    stored: int = 0

    def stored_range(self) -> tuple[int, int, np.ndarray]:
        """Return the first row in the file, the end, and which of the rows between them are in the piece.

        Examples
        --------
        >>> piece = TablePiece("a", 1, 2, left_out=np.array([0, 3]).tobytes(), stored=6)
        >>> first, end, mask = piece.stored_range()
        >>> first, end, mask.tolist()
        (2, 5, [True, False, True])
        """
        deleted = np.frombuffer(self.left_out, "<i8")
        before = deleted - np.arange(len(deleted))  # rows that stand before each deleted one and are not deleted
        ends = np.array([self.first, self.first + self.rows - 1])
        first, last = (ends + np.searchsorted(before, ends, "right")).tolist()
        mask = np.ones(last + 1 - first, bool)
        mask[deleted[(deleted >= first) & (deleted <= last)] - first] = False
        return first, last + 1, mask


@dataclass(frozen=True)
class TableStorage(Storage):
    """Opens files of tables, which no writer changes: one that is there is known by its size."""

    def check_unchanged(self, file: InputFile | Piece) -> None:
        """Raise IncompleteInputError for a file that is not there, or not the one that the log lists."""
        try:
            size, _ = self.measure(file.path)
        except IncompleteInputError as error:
            raise IncompleteInputError(
                f"{file.path} is in the log of its table, and is not there",
                hint="A vacuum removes the files of old versions: read a newer version, or restore the file.",
                path=file.path,
            ) from error
        if size != file.size:
            raise IncompleteInputError(
                f"{file.path} has {size} bytes, and {file.size} in the log of its table",
                hint="Restore the file: what a log lists is not written again.",
                path=file.path,
            )
