"""Columns and types: one canonical Arrow schema for a dataset, whatever files it is made of.

Strings are ``string`` (not ``large_string``, ``string_view`` or a dictionary of them), so that a type printed, compared
or declared by a user has one spelling. The rules for files that disagree are those of :func:`unify`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaDriftError, SchemaError, check_one_of, did_you_mean
from penstock.core.known_classes import note_of
from penstock.core.names import check_names, column_names, unnamed
from penstock.core.notices import warn
from penstock.core.type_names import NAMED, type_of


def canonical_type(kind: pa.DataType) -> pa.DataType:
    """Return the one spelling of a type, also of those nested in it.

    Examples
    --------
    >>> canonical_type(pa.dictionary(pa.int32(), pa.large_string()))
    DataType(string)
    """
    if pa.types.is_dictionary(kind):
        return canonical_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(canonical_type(kind.value_type))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, _zone(kind.tz))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, canonical_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(canonical_type(kind.key_type), canonical_type(kind.item_type))
    return kind


def _zone(name: str) -> str:
    """Return the name of a zone; that of the time zone database for a fixed offset of whole hours, as frames have it.

    The database has the sign of an offset the other way round.
    """
    offset = re.fullmatch(r"([+-])(\d\d):?00", name)
    if offset is None:
        return name
    hours = int(offset[2])
    return f"Etc/GMT{'-' if offset[1] == '+' else '+'}{hours}" if hours else "UTC"


def canonical(schema: pa.Schema) -> pa.Schema:
    """Return `schema` with canonical types, every column nullable; of metadata the classes of scores stay."""
    notes = {each.name: note_of([each]) for each in schema if each.metadata}
    return pa.schema([pa.field(each.name, canonical_type(each.type), metadata=notes.get(each.name)) for each in schema])


def with_fields(schema: pa.Schema, kinds: Mapping[str, pa.DataType]) -> pa.Schema:
    """Return `schema` with columns of these types replaced in place or added at the end; of the others notes stay."""
    fields = {field.name: field for field in schema} | {name: pa.field(name, kind) for name, kind in kinds.items()}
    return pa.schema(list(fields.values()))


def declared(schema: pa.Schema | dict[str, str | pa.DataType]) -> pa.Schema:
    """Return the Arrow schema that a user declared, as a schema or as names to types.

    A type is one of pyarrow's, or its name: ``"float64"``, ``"date"``, ``"timestamp"`` (in microseconds), or one of
    Arrow's own, ``"date32"``, ``"timestamp[ms, tz=UTC]"``, ``"decimal128(9, 2)"``, ``"list<item: int64>"``.

    Raises
    ------
    ConfigError
        A type name is not known.
    SchemaError
        A column has a name that Penstock keeps for itself, or a type that no engine can read.

    Examples
    --------
    >>> declared({"id": "string", "amount": "float64"}).names
    ['id', 'amount']
    """
    if not isinstance(schema, pa.Schema):
        schema = pa.schema([(name, _type_of(name, kind)) for name, kind in schema.items()])
    check_names(schema.names, "the declared schema")
    for field in (columns := canonical(schema)):
        check_type(field.name, field.type, "the declared schema")
    return columns


def _type_of(column: str, kind: str | pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    known = type_of(kind) if isinstance(kind, str) else None
    if known is None:
        raise ConfigError(
            f"type {kind!r} of column {column!r} is not known, expected one of {', '.join(NAMED)}, a name of Arrow's"
            f" or a pyarrow type.{did_you_mean(str(kind), NAMED)}",
            column=column,
        )
    return known


def check_type(column: str, kind: pa.DataType, path: str) -> None:
    """Raise SchemaError for a type that dataframe libraries have no like of, also inside a list or a struct.

    Examples
    --------
    >>> check_type("d", pa.list_(pa.decimal256(50, 2)), "a.parquet")
    Traceback (most recent call last):
        ...
    penstock.errors.SchemaError: column 'd' is list<item: decimal256(50, 2)> in a.parquet, which cannot be read
      Hint: Cast it where it is written: a decimal to decimal128 or float64, times to UTC, others to ...
    """
    if _is_foreign(kind):
        raise SchemaError(
            f"column {column!r} is {kind} in {path}, which cannot be read",
            hint="Cast it where it is written: a decimal to decimal128 or float64, times to UTC, others to numbers,"
            " text or a list; or leave it out: name the other columns in schema.",
            path=path,
            column=column,
        )


def _is_foreign(kind: pa.DataType) -> bool:
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    views = pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    encoded = pa.types.is_union(kind) or pa.types.is_run_end_encoded(kind) or pa.types.is_interval(kind)
    decimal = pa.types.is_decimal(kind) and (kind.bit_width > 128 or kind.scale < 0)
    offset = pa.types.is_timestamp(kind) and (kind.tz or "").startswith(("+", "-"))  # of no zone that has a name
    return bool(views or encoded or decimal or offset or isinstance(kind, pa.JsonType) or any(map(_is_foreign, inner)))


def check_unique(names: Sequence[str], path: str) -> None:
    """Raise SchemaDriftError when a column name stands twice."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in seen and not name:
            raise unnamed(seen[name], len(names), path, path=path)
        if name in seen:
            raise SchemaDriftError(
                f"column {name!r} stands twice, at positions {seen[name]} and {position}, in {path}",
                hint="Rename one of them; Penstock binds columns by name.",
                path=path,
                column=name,
            )
        seen[name] = position


def require(schema: pa.Schema, columns: str | Iterable[str], *, stage: str | None = None) -> tuple[str, ...]:
    """Return the names of `columns`; raise SchemaError unless every one of them is in `schema`."""
    names = column_names(columns, "columns" if stage is None else f"columns of {stage}", stage=stage)
    present = {*schema.names}
    missing = [name for name in names if name not in present]
    if missing:
        raise SchemaError(
            f"column {missing[0]!r} is not in the data.{did_you_mean(missing[0], schema.names)}"
            f" Missing: {', '.join(missing)}. Columns: {shorten(schema.names)}",
            column=missing[0],
            stage=stage,
        )
    return names


def shorten(names: Sequence[str], most: int = 20) -> str:
    """Return names as one line, cut after `most`."""
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def widen(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type that holds both without loss, or None when there is none.

    Integers widen within their signedness, or to a larger signed type; float32 widens to float64; ``null`` widens to
    anything. An integer never becomes a float, a number never becomes a string, and timestamps of different units or
    zones have no common type.

    Examples
    --------
    >>> widen(pa.int32(), pa.int64()), widen(pa.int64(), pa.string())
    (DataType(int64), None)
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return _widen_integers(left, right)
    if pa.types.is_floating(left) and pa.types.is_floating(right):
        return left if left.bit_width >= right.bit_width else right
    return None


def _widen_integers(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    small, large = sorted((left, right), key=lambda kind: kind.bit_width)
    same_sign = pa.types.is_signed_integer(small) == pa.types.is_signed_integer(large)
    if same_sign or (pa.types.is_signed_integer(large) and small.bit_width < large.bit_width):
        return large
    unsigned = small if pa.types.is_unsigned_integer(small) else large
    return {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}.get(unsigned.bit_width)


def unify(schemas: Sequence[tuple[str, pa.Schema]], *, missing: str = "error", extra: str = "warn") -> pa.Schema:
    """Return the schema of a dataset from the schemas of its files: `(path, schema)`, the first file leads.

    Parameters
    ----------
    missing : {"error", "null"}
        A column of the first file that another file lacks.
    extra : {"warn", "error"}
        A column that the first file lacks: left out with one warning, or an error.

    Raises
    ------
    ConfigError
        `missing` or `extra` is something else.
    SchemaError
        A type that cannot be read.
    SchemaDriftError
        Types that do not widen without loss, a missing column, or an extra one where that is an error; the message
        names the column, both types, and a file of each.
    SchemaError
        A column has a name that Penstock keeps for itself.
    """
    check_one_of("missing_columns", missing, ("error", "null"))
    check_one_of("extra_columns", extra, ("warn", "error"))
    lead_path, lead = schemas[0]
    check_unique(lead.names, lead_path)
    fields = {field.name: (canonical_type(field.type), lead_path) for field in lead}
    extras: dict[str, list[str]] = {}
    for path, schema in schemas[1:]:
        check_unique(schema.names, path)
        _check_missing(fields, schema, path, schemas, missing)
        for field in schema:
            if field.name not in fields:
                extras.setdefault(field.name, []).append(path)
                continue
            fields[field.name] = _join(field.name, fields[field.name], (canonical_type(field.type), path), schemas)
    for name, (kind, path) in fields.items():
        check_type(name, kind, path)
    if extras:
        _report_extra(extras, lead_path, extra)
    check_names(fields, lead_path, path=lead_path)
    return pa.schema([(name, kind) for name, (kind, _) in fields.items()])


def _join(
    name: str, known: tuple[pa.DataType, str], found: tuple[pa.DataType, str], schemas: Sequence[tuple[str, pa.Schema]]
) -> tuple[pa.DataType, str]:
    kind = widen(known[0], found[0])
    if kind is None:
        kinds = (canonical_type(schema.field(name).type) for _, schema in schemas if name in schema.names)
        counts = Counter(map(str, kinds))
        tally = ", ".join(f"{kind} in {count} file(s)" for kind, count in counts.items())
        raise SchemaDriftError(
            f"column {name!r} is {known[0]} in {known[1]} but {found[0]} in {found[1]} ({tally})",
            hint="Rewrite the odd files with one type; Penstock does not cast silently.",
            path=found[1],
            column=name,
        )
    return kind, known[1] if kind == known[0] else found[1]


def _check_missing(
    fields: dict[str, tuple[pa.DataType, str]],
    schema: pa.Schema,
    path: str,
    schemas: Sequence[tuple[str, pa.Schema]],
    missing: str,
) -> None:
    absent = [name for name in fields if name not in schema.names]
    if absent and missing == "error":
        others = [name for name in schema.names if name not in fields]
        lacking = sum(absent[0] not in other.names for _, other in schemas[1:])
        raise SchemaDriftError(
            f"column {absent[0]!r} of {schemas[0][0]} is not in {path}.{did_you_mean(absent[0], others)}"
            f" {lacking} file(s) lack it",
            hint='Pass missing_columns="null" to read it as null from the files that lack it.',
            path=path,
            column=absent[0],
        )


def _report_extra(extras: dict[str, list[str]], lead: str, extra: str) -> None:
    name, paths = next(iter(extras.items()))
    text = f"column {name!r} of {shorten(paths, 3)} is not in {lead}"
    if extra == "error":
        raise SchemaDriftError(
            text, hint='Add it to every file, or pass extra_columns="warn" to leave it out.', path=paths[0], column=name
        )
    listed = "; ".join(f"{name} in {shorten(paths, 3)}" for name, paths in extras.items())
    warn(f"columns that {lead} lacks are left out: {listed}", stacklevel=2)
