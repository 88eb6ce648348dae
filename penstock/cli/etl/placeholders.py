"""Paths with placeholders: ``{date}``, ``{date:%Y/%m/%d}``, ``{run_id}``, and parameters by name."""

from __future__ import annotations

import string
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from penstock.core.errors import ConfigError, did_you_mean

DATE, RUN_ID = "date", "run_id"
_BRACES = "A brace that is meant as such is written twice: {{ and }}."


def placeholders(template: str, where: str) -> list[str]:
    """Return the names of the placeholders of a path; ConfigError for one that cannot be read.

    Examples
    --------
    >>> placeholders("out/{region}/{date:%Y/%m}", "job.yaml")
    ['region', 'date']
    """
    return [name for _, name, _ in _parse(template, where) if name is not None]


def check_placeholders(template: str, known: Collection[str], where: str) -> None:
    """Raise ConfigError, with the nearest name, for a placeholder that is not known.

    Examples
    --------
    >>> check_placeholders("out/{dat}", ["date", "run_id"], "job.yaml, line 3, column 9")
    Traceback (most recent call last):
    penstock.errors.ConfigError: job.yaml, line 3, column 9: {dat} in 'out/{dat}' is not known. Did you mean 'date'?
      Hint: Known: date, run_id. A brace that is meant as such is written twice: {{ and }}.
    """
    for name in placeholders(template, where):
        if name not in known:
            raise ConfigError(
                f"{where}: {{{name}}} in {template!r} is not known.{did_you_mean(name, known)}",
                hint=f"Known: {', '.join(known)}. {_BRACES}",
            )


def fill_placeholders(template: str, values: Mapping[str, Any], where: str) -> str:
    """Return a path with its placeholders filled.

    Parameters
    ----------
    template : str
    values : mapping of str to value
        A date without a format is its day: ``2024-01-05``.
    where : str
        Where the path stands, for messages.

    Raises
    ------
    ConfigError
        A value is None, or does not go with its format.

    Examples
    --------
    >>> fill_placeholders("{region}/{date:%Y/%m}", {"region": "eu", "date": date(2024, 1, 5)}, "job.yaml")
    'eu/2024/01'
    """
    parts = []
    for literal, name, spec in _parse(template, where):
        parts.append(literal if name is None else literal + _filled(name, spec, values[name], where))
    return "".join(parts)


def _parse(template: str, where: str) -> list[tuple[str, str | None, str]]:
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ConfigError(f"{where}: {template!r} cannot be read: {error}", hint=_BRACES) from error
    for _, name, spec, conversion in parsed:
        if conversion is not None or (spec and "{" in spec):
            raise ConfigError(f"{where}: {{{name}}} in {template!r} has more than a name and a format", hint=_BRACES)
    return [(literal, name, spec or "") for literal, name, spec, _ in parsed]


def _filled(name: str, spec: str, value: Any, where: str) -> str:
    if value is None:
        hint = "Give it: --date 2024-01-05." if name == DATE else f"Give it: --set {name}=..."
        raise ConfigError(f"{where}: {{{name}}} is used, and {name} is not given", hint=hint)
    try:
        text = format(value, spec or ("%Y-%m-%d" if isinstance(value, date) else ""))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {{{name}:{spec}}} does not go with {value!r}: {error}") from error
    if not text:
        raise ConfigError(f"{where}: {{{name}}} is empty")
    return text
