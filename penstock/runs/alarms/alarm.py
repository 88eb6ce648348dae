"""Alarms: limits on numbers of a run, made in Python or read from a YAML file, a list under ``alarms``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any

from penstock.config.strict_yaml import shorten
from penstock.config.yaml_entries import read_entries
from penstock.core.errors import ConfigError, check_one_of, did_you_mean
from penstock.runs.alarms.values import check_value

SEVERITIES = ("error", "warn")
BASES = ("history", "prediction")
MOST = 100_000
"""As many runs as a history may have."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """When a run is an alarm, and who is notified.

    Parameters
    ----------
    name : str
    value : str
        What of a run, see `penstock.runs.alarms.values`: ``seconds``, ``skew``, ``metric:areaUnderROC``.
    above, below : float, optional
        It is an alarm beyond these; one of them at least.
    kind, of : str, optional
        Only of runs of this kind, ``fit`` say, and of this pipeline or model; of all unless given.
    relative_to : {"history", "prediction"}, optional
        They are multiples: of the median of the last runs of the same kind and name that were done, or of what was
        predicted of the run: by its record, or of its time by the rows of these runs and of this one. Unless given they
        are limits themselves.
    last : int, default=10
        How many runs before are the history. Fewer than three are none.
    severity : {"error", "warn"}, default="error"
        Of an error the exit code is 3.
    webhook : str, optional
        The URL that gets a POST with JSON; ``env:NAME`` in a file.
    command : sequence of str, optional
        A program and its arguments, to which the path of ``run.json`` is added; it gets the same JSON on its stdin.

    Raises
    ------
    ConfigError
        A parameter is none of these, or there is no limit.

    Examples
    --------
    >>> Alarm(name="slow", value="seconds", above=1.5, relative_to="history").severity
    'error'
    """

    name: str
    value: str
    above: float | None = None
    below: float | None = None
    kind: str | None = None
    of: str | None = None
    relative_to: str | None = None
    last: int = 10
    severity: str = "error"
    webhook: str | None = field(default=None, repr=False)
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"name is {self.name!r}, expected a text")
        for name in ("kind", "of"):
            if not isinstance(value := getattr(self, name), str | None):
                raise ConfigError(f"{name} is {value!r:.100}, expected a text")
        check_value(self.value)
        limits = [limit for limit in (self.above, self.below) if limit is not None]
        if not limits or not all(map(_is_number, limits)):
            shown = " and ".join(f"{limit!r:.50}" for limit in (self.above, self.below))
            problem = f"above and below are {shown}, expected a finite number for one of them"
            raise ConfigError(problem, hint="Write above: 3600, say.")
        if self.relative_to is not None:
            check_one_of("relative_to", self.relative_to, BASES)
        check_one_of("severity", self.severity, SEVERITIES)
        self._check_targets()

    def _check_targets(self) -> None:
        if type(self.last) is not int or not 1 <= self.last <= MOST:
            raise ConfigError(f"last is {self.last!r:.50}, expected a number of runs, 1 to {MOST:,}")
        if self.webhook is not None and not str(self.webhook).startswith(("http://", "https://")):
            raise ConfigError("webhook is no URL", hint="Write webhook: https://host/hook, or env:NAME.")
        listed = isinstance(self.command, Sequence) and not isinstance(self.command, str | bytes)
        if not listed or not all(isinstance(word, str) for word in self.command):
            problem = f"command is {self.command!r:.100}, expected a list of texts"
            raise ConfigError(problem, hint="Write command: [./page, --team, ml]; no shell reads it.")


def _is_number(value: Any) -> bool:
    """Return whether a limit is a number that can be multiplied: none of more digits than a double has."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return isfinite(value)
    except OverflowError:
        return False


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
