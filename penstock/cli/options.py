"""Options made of a request: one for each field, its default the field's, its help what the docstring says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from inspect import Parameter, cleandoc, get_annotations
from typing import Annotated, Any, get_args, get_origin

import typer

from penstock.cli.requests import JobRequest

_ENTRY = re.compile(r"^(\w+) : .*((?:\n +\S.*)+)", re.MULTILINE)


def options_of(request: type[JobRequest], argument: str = "") -> list[Parameter]:
    """Return the parameters of a command that makes a request; one that is not given is None.

    Parameters
    ----------
    request : type of JobRequest
    argument : str
        The field that is an argument, and no option.
    """
    kinds = request.__mro__
    texts = {name: text for kind in reversed(kinds) for name, text in _ENTRY.findall(cleandoc(kind.__doc__ or ""))}
    by_name = {field.name: field for field in fields(request)}
    own_first = [by_name[name] for kind in kinds for name in get_annotations(kind)]
    required_first = sorted(own_first, key=lambda field: field.default is not MISSING)
    return [_parameter(field, " ".join(texts.get(field.name, "").split()), argument) for field in required_first]


def _parameter(field: Field[Any], text: str, argument: str) -> Parameter:
    repeated = get_origin(field.type) is Sequence
    kind: Any = list[str] if repeated else next(iter(get_args(field.type)), field.type)
    text = f"{text[:-1]}; may be repeated." if repeated else text
    if field.name == argument:
        info: Any = typer.Argument(metavar=field.name.upper(), help=text)
    else:
        option = field.metadata.get("option", f"--{field.name.replace('_', '-')}")
        known = str(field.default) if type(field.default) in (int, float, str) else True
        shown = field.metadata.get("show_default", known)
        info = typer.Option(option, metavar=field.metadata.get("metavar"), show_default=shown, help=text)
    if field.default is MISSING:
        return Parameter(field.name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info])
