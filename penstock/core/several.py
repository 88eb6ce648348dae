"""Parameters that take several values: one value stands for a list of one, and a text never for its characters."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable
from functools import cache, partial
from numbers import Integral, Real
from typing import Any

from penstock.core.errors import ConfigError

_LISTS = {"Sequence", "Collection", "Iterable", "list", "tuple", "set", "frozenset"}
_WORDS = {
    "str": "texts",
    "int": "integers",
    "float": "numbers",
    "bool": "booleans",
    "Any": "values",
    "Columns": "names",
}


@dataclasses.dataclass(frozen=True)
class _Several:
    """What a list may hold, what may be given in its stead, and its length if that is fixed."""

    items: frozenset[str]
    besides: frozenset[str]
    length: int | None

    @property
    def expected(self) -> str:
        words = " or ".join(sorted({_WORDS.get(item, "lists" if item in _LISTS else item) for item in self.items}))
        return f"a list of {words}" if self.length is None else f"{self.length} {words}"


def as_several(value: Any, declared: Any, refused: Callable[[str], ConfigError]) -> Any:
    """Return a parameter as a tuple, if it is a list, or one value that is declared as an item of one.

    Parameters
    ----------
    declared : str or type
        The annotation of the parameter; where it has more than lists and None, one value stays as it is.
    refused : callable
        Makes the error from what was expected, in words.

    Raises
    ------
    ConfigError
        One value that a list of these may not hold, or None where None is not declared.

    Examples
    --------
    >>> as_several("NA", "Sequence[str]", ConfigError), as_several([1, 2], "Sequence[int]", ConfigError)
    (('NA',), (1, 2))
    >>> as_several("NA", "Sequence[float]", ConfigError)
    Traceback (most recent call last):
    penstock.errors.ConfigError: a list of numbers
    """
    text = declared if isinstance(declared, str) else getattr(declared, "__name__", "") * isinstance(declared, type)
    several = _declared(text or str(declared))
    if several is None or (value is None and "None" in several.besides):
        return value
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return value
    if several.besides - {"None"}:
        return value  # which is taken without a list, or refused by its owner
    if several.length is None and value is not None and _kinds(value) & several.items:
        return (value,)
    raise refused(several.expected)


def settle_several(owner: Any, refused: Callable[[str, str], ConfigError] | None = None) -> None:
    """Make a tuple of each field of a frozen dataclass that takes several values; see `as_several`.

    Parameters
    ----------
    refused : callable, optional
        Makes the error from the name of a field and what was expected.
    """

    def error(name: str, expected: str) -> ConfigError:
        return ConfigError(f"{name} is {getattr(owner, name)!r:.100}, expected {expected}")

    for field in dataclasses.fields(owner):
        given = getattr(owner, field.name)
        if given is None and refused:
            continue  # which a stage refuses in words of its own
        value = as_several(given, field.type, partial((refused or error), field.name))
        if value is not given:
            object.__setattr__(owner, field.name, value)


def several(value: Any, name: str, declared: str) -> Any:
    """Return an argument of a function as `as_several` has it; the error says `name`."""
    return as_several(value, declared, lambda expected: ConfigError(f"{name} is {value!r:.100}, expected {expected}"))


def _kinds(value: Any) -> set[str]:
    """Return the names under which a value may be declared."""
    numbers = {"float"} if isinstance(value, Real) else set()
    whole = {"int"} if isinstance(value, Integral) else set()
    names = {"bool"} if isinstance(value, bool) else {kind.__name__ for kind in type(value).__mro__} | numbers | whole
    return names | {"Any"} | ({"Columns"} if names & {"str", "Selector"} else set())


@cache
def _declared(declared: str) -> _Several | None:
    """Return the list types of an annotation; None where it has none."""
    try:
        kinds = _alternatives(ast.parse(declared, mode="eval").body)
    except SyntaxError:  # of what has no source: "<class 'X'>"
        return None
    lists = [kind for kind in kinds if isinstance(kind, ast.Subscript) and _name(kind) in _LISTS]
    if not lists:
        return None
    held = [kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice, ast.Constant(...)] for kind in lists]
    fixed = {len(each) for each in held if ast.unparse(each[-1]) not in ("...", "Ellipsis")}
    items = {_name(item) for each in held for item in _alternatives(each[0])}
    return _Several(
        frozenset(items), frozenset(_name(kind) for kind in kinds if kind not in lists), max(fixed, default=None)
    )


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """Return the members of a union."""
    return [*_alternatives(node.left), *_alternatives(node.right)] if isinstance(node, ast.BinOp) else [node]


def _name(node: ast.expr) -> str:
    """Return the name of a class without its module and without what it holds."""
    bare = node.value if isinstance(node, ast.Subscript) else node
    return ast.unparse(bare).rpartition(".")[2]
