"""Values of parameters as text and plain values, the same in every process."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import pickle
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.search.distributions import plain


def describe(value: Any) -> Any:
    """Return a value as None, a boolean, a number, a text, or a list or dict of them.

    Stages and estimators are the text that makes one, without the parameters that are at their defaults. A function is
    its name, and one that has none of its own its name and a digest of its code.

    Examples
    --------
    >>> from penstock import stages as st
    >>> describe(st.StandardScaler("x")), describe((1, 2.5)), describe(describe)
    ("StandardScaler(columns=['x'])", [1, 2.5], 'penstock.search.descriptions.describe')
    """
    value = plain(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): describe(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return describe(value.tolist())
    if isinstance(value, list | tuple):
        return [describe(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((describe(part) for part in value), key=label)
    if hasattr(value, "__qualname__"):
        return _code(value)
    return _object(value)


def label(value: Any) -> str:
    """Return a description as one text, different for values of different types.

    Examples
    --------
    >>> label(1), label(True), label("1")
    ('1', 'true', '"1"')
    """
    return json.dumps(describe(value), sort_keys=True, default=str)


def _code(value: Any) -> str:
    """Return the name of a class or function, with a digest of what it does where it has none of its own."""
    name = f"{value.__module__}.{value.__qualname__}"
    return f"{name} {_digest(value)}" if "<" in name and isinstance(value, types.FunctionType) else name


def _digest(function: types.FunctionType) -> str:
    code = function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    enclosed = [describe(value) for value in (*(function.__defaults__ or ()), *cells) if value is not function]
    return hashlib.sha256(repr((_content(code), enclosed)).encode()).hexdigest()[:8]


def _content(code: types.CodeType) -> list[Any]:
    """Return what a function does, without what has an address in memory."""
    constants = [_content(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return [code.co_code, code.co_names, constants]


def _object(value: Any) -> str:
    """Return a call with the arguments that differ from their defaults, or else the value as it shows itself."""
    defaults = _defaults(value)
    if defaults is None:
        return _opaque(value)
    given = {name: getattr(value, name) for name in defaults}
    changed = {name: argument for name, argument in given.items() if label(argument) != defaults[name]}
    shown = [f"{name}={describe(argument)!r}" for name, argument in changed.items()]
    return f"{type(value).__name__}({', '.join(shown)})"


def _opaque(value: Any) -> str:
    """Return a value as it shows itself or, where that is its address in memory, what it is made of."""
    if isinstance(value, functools.partial):
        return f"partial({describe((value.func, value.args, value.keywords))})"
    if " at 0x" not in repr(value):
        return repr(value)
    if getattr(value, "__dict__", None):
        return f"{type(value).__qualname__}({describe(vars(value))})"
    return f"{type(value).__qualname__} {hashlib.sha256(pickle.dumps(value)).hexdigest()[:8]}"


def _defaults(value: Any) -> dict[str, str | None] | None:
    """Return labels of the defaults of what a value was made of, None for what has none; or None if it is not known.

    A dataclass and an estimator of scikit-learn's has each argument of its class as an attribute.
    """
    if dataclasses.is_dataclass(value):
        return {field.name: _field_default(field) for field in dataclasses.fields(value) if field.init}
    if not (hasattr(value, "get_params") and hasattr(value, "set_params")):
        return None
    arguments = inspect.signature(type(value)).parameters.values()
    named = [each for each in arguments if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return {each.name: None if each.default is each.empty else label(each.default) for each in named}


def _field_default(field: dataclasses.Field) -> str | None:
    if field.default_factory is not dataclasses.MISSING:
        return label(field.default_factory())
    return None if field.default is dataclasses.MISSING else label(field.default)
