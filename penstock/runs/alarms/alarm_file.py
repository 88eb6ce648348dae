"""Alarms from a YAML file: a list under ``alarms``, of entries with the parameters of an alarm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from penstock.config.strict_yaml import shorten
from penstock.config.yaml_entries import read_entries
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
    return read_entries(path, "alarms", _EXAMPLE, _alarm_of)


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
