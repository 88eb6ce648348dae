"""Options made of a request: one for each field, its default the field's, its help what the docstring says of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from inspect import Parameter, cleandoc, get_annotations
from typing import Annotated, Any, get_args, get_origin

import typer

from penstock.cli.requests import JobRequest
from penstock.config import secrets

_ENTRY = re.compile(r"^(\w+) : .*((?:\n +\S.*)+)", re.MULTILINE)


def options_of(request: type[Any], *arguments: str) -> list[Parameter]:
    """Return the parameters of a command that makes a request; one that is not given is None.

    Parameters
    ----------
    request : type of request
        A dataclass.
    *arguments : str
        The fields that are arguments, and no options.
    """
    kinds = request.__mro__
    texts = {name: text for kind in reversed(kinds) for name, text in _ENTRY.findall(cleandoc(kind.__doc__ or ""))}
    by_name = {field.name: field for field in fields(request)}
    own_first = [by_name[name] for kind in kinds for name in get_annotations(kind)]
    required_first = sorted(own_first, key=lambda field: field.default is not MISSING)
    return [_parameter(field, " ".join(texts.get(field.name, "").split()), arguments) for field in required_first]


def _parameter(field: Field[Any], text: str, arguments: Sequence[str]) -> Parameter:
    repeated = get_origin(field.type) is Sequence
    kind: Any = list[str] if repeated else next(iter(get_args(field.type)), field.type)
    text = f"{text[:-1]}; may be repeated." if repeated else text
    if field.name in arguments:
        info: Any = typer.Argument(metavar=field.name.upper(), help=text)
    else:
        option = _option(field)
        known = str(field.default) if type(field.default) in (int, float, str) else True
        shown = field.metadata.get("show_default", known)
        info = typer.Option(option, metavar=field.metadata.get("metavar"), show_default=shown, help=text)
    if field.default is MISSING:
        return Parameter(field.name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info])


def command_line(request: JobRequest, command: str, argument: str) -> str:
    """Return the command that makes a request; values that are secret by their names are left out.

    Parameters
    ----------
    request : JobRequest
    command : str
    argument : str
        The field that is an argument, and no option.

    Examples
    --------
    >>> from penstock.cli.etl.request import RunRequest
    >>> command_line(RunRequest(pipeline="daily", inputs=["a=x y"], date="2024-01-05", dry_run=True), "run", "pipeline")
    "penstock run daily --in 'a=x y' --date 2024-01-05 --dry-run"
    """
    words = ["penstock", command, str(getattr(request, argument))]
    for each in sorted(fields(request), key=lambda field: get_annotations(JobRequest).get(field.name) is not None):
        value = getattr(request, each.name)
        if each.name == argument or value == each.default:
            continue
        values = value if get_origin(each.type) is Sequence else [value]
        words += [word for each_value in values for word in _words(_option(each), each_value)]
    return shlex.join(words)


def _words(option: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [option.partition("/")[0]]
    name = str(value).partition("=")[0]
    return [option, f"{name}=..." if secrets.names_secret(name) else str(value)]


def _option(field: Field[Any]) -> str:
    return field.metadata.get("option", f"--{field.name.replace('_', '-')}")
