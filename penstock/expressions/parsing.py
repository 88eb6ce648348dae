"""From the text of a condition to an expression that is checked against a schema."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, SchemaError, class_name
from penstock.core.schemas import require
from penstock.expressions.nodes import Operand, Translator

DEPTH = 100
"""How deep a condition may be nested; a sum of n terms is n deep."""


@dataclass(frozen=True)
class Expression:
    """A parsed condition.

    Attributes
    ----------
    text : str
        As it was written.
    columns : tuple of str
        The columns it reads, in the order in which they stand there.
    expr : narwhals.Expr
        Boolean and never null: true where the condition holds, false where it does not or where a null leaves it open.
    operands : tuple of Operand
        Its parts, inner ones first, with the type each has to be of.
    """

    text: str
    columns: tuple[str, ...]
    expr: nw.Expr = field(repr=False)
    operands: tuple[Operand, ...] = field(repr=False)

    def check(self, schema: pa.Schema, *, stage: str | None = None) -> None:
        """Raise SchemaError unless the columns are in `schema` and of types that the condition can take.

        Parameters
        ----------
        stage : str, optional
            Whose condition it is; named in the error.

        Examples
        --------
        >>> parse("x + 1 > 2").check(pa.schema({"x": pa.string()}))
        Traceback (most recent call last):
        penstock.errors.SchemaError: 'x' is String, expected a number, in the condition 'x + 1 > 2'
        """
        require(schema, self.columns, stage=stage)
        check_operands(self.operands, empty_frame(schema, self.columns), f"condition {self.text!r}", stage)


def empty_frame(schema: pa.Schema, columns: Iterable[str]) -> nw.DataFrame:
    """Return a frame of columns without rows."""
    return frames.from_arrow(pa.schema([schema.field(name) for name in columns]).empty_table())


def check_operands(operands: Iterable[Operand], empty: nw.DataFrame, what: str, stage: str | None) -> None:
    """Raise SchemaError unless every part of `what` is of the type that it has to be."""
    for operand in operands:
        dtype = type_of(operand, empty, stage)
        if not operand.fits(dtype):
            raise SchemaError(f"{operand.text!r} is {dtype}, expected a {operand.kind}, in the {what}", stage=stage)


def type_of(operand: Operand, empty: nw.DataFrame, stage: str | None) -> nw.dtypes.DType:
    """Return the type of a part; SchemaError where it has none."""
    try:
        return empty.select(operand.value.alias("value")).schema["value"]
    except frames.ERRORS as error:
        reason = str(error).partition("\n")[0]
        raise SchemaError(f"{operand.text!r} does not fit the types of the columns: {reason}", stage=stage) from error


def parse(text: str) -> Expression:
    """Return the condition that `text` says; nothing in it is run.

    Whether a comparison with a null holds is open, as in SQL: ``and``, ``or`` and ``not`` follow three-valued logic,
    and what is open at the end counts as false. ``x is None or x > 0`` lets nulls pass. Columns are compared in
    their own types, so large integers exactly. Arithmetic is in float64, but for ``%``, which keeps integers whole and
    takes the sign of the divisor; what has no value (0 / 0, a root of -1) is null. ``len`` counts characters.

    Raises
    ------
    ConfigError
        It is no text; something in it is not allowed, with its position; or it reads no column at all.

    Examples
    --------
    >>> condition = parse("0 <= age < 120 and `given name` is not None")
    >>> condition.columns
    ('age', 'given name')
    >>> frame = frames.from_arrow(pa.table({"age": [30, 200, None], "given name": ["Ada", "Bob", "Eve"]}))
    >>> frame.select(condition.expr.alias("ok"))["ok"].to_list()
    [True, False, False]
    """
    if not isinstance(text, str):
        raise ConfigError(
            f"a condition is {class_name(text)}, expected text",
            hint='Write "x > 0", or "x is None or x > 0"; expressions of Narwhals are for Dataset.filter.',
        )
    return _parsed(text)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Expression:
    translator = Translator(text)
    holds = translator.condition(body(translator, text)).holds
    check_reads(translator, text)
    return Expression(text, tuple(translator.columns), holds, tuple(translator.operands))


def body(translator: Translator, text: str) -> ast.expr:
    """Return the syntax tree of what a translator is to translate; ConfigError where it has none, or one too deep."""
    try:
        tree = ast.parse(translator.source, mode="eval")
        deep = _depth(tree.body) > DEPTH
    except (SyntaxError, ValueError) as error:
        offset = getattr(error, "offset", None)  # a ValueError has none, and 0 is the end of the text
        position = f" at position {offset}" if offset else ""
        problem = f"{translator.noun} {text!r} cannot be read{position}: {error.args[0]}"
        raise ConfigError(problem, hint=translator.hint) from error
    except (RecursionError, MemoryError):
        deep = True
    if deep:
        problem = f"{translator.noun} {text[:60]!r}... is nested more than {DEPTH} deep"
        raise ConfigError(problem, hint="Make it several.")
    return tree.body


def check_reads(translator: Translator, text: str) -> None:
    """Raise ConfigError unless what was translated reads a column."""
    if not translator.columns:
        raise ConfigError(f"{translator.noun} {text!r} reads no column", hint=translator.hint)


def _depth(node: ast.AST) -> int:
    return 1 + max((_depth(child) for child in ast.iter_child_nodes(node)), default=0)
