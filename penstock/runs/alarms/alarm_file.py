"""Alarms from a YAML file: a list under ``alarms``, of entries with the parameters of an alarm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from penstock.config import strict_yaml
from penstock.config.strict_yaml import shorten
from penstock.core.errors import ConfigError, did_you_mean
from penstock.runs.alarms.alarm import Alarm

_EXAMPLE = 'Write "- {name: slow, value: seconds, above: 3600}".'


def read_alarms(path: str | Path) -> list[Alarm]:
    r"""Return the alarms of a file.

    Raises
    ------
    ConfigError
        It is no such file, see `strict_yaml.read`; or an entry is none: says file, line, which entry, and why.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "alarms.yaml")
    ...     _ = path.write_text("alarms:\n- {name: slow, value: seconds, above: 3600}\n")
    ...     [alarm.above for alarm in read_alarms(path)]
    [3600]
    """
    values, places = strict_yaml.read(path)
    entries = values.get("alarms")
    unknown = [name for name in values if name != "alarms"]
    if unknown or not isinstance(entries, list) or not entries:
        found = f"has {unknown[0]!r}" if unknown else "has no list of alarms"
        raise ConfigError(f"{path} {found}, expected 'alarms:' and a list", hint=_EXAMPLE, path=str(path))
    alarms = []
    for place, entry in enumerate(entries):
        try:
            alarms.append(_alarm_of(entry))
        except ConfigError as error:
            problem = f"{places['alarms', place].where}: alarm {place + 1}: {error.message}"
            raise ConfigError(problem, hint=error.hint, path=str(path)) from error
    return alarms


def _alarm_of(entry: Any) -> Alarm:
    if not isinstance(entry, Mapping):
        raise ConfigError(f"found {shorten(entry)}, expected a mapping", hint=_EXAMPLE)
    known = [each.name for each in fields(Alarm)]
    for name in entry:
        if name not in known:
            problem = f"an alarm has no {name!r}.{did_you_mean(name, known)}"
            raise ConfigError(problem, hint=f"Known: {', '.join(known)}.")
    missing = [each.name for each in fields(Alarm) if each.default is MISSING and each.name not in entry]
    if missing:
        raise ConfigError(f"it lacks {', '.join(missing)}", hint=_EXAMPLE)
    return Alarm(**entry)
