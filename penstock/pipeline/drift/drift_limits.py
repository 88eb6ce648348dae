"""From where on a difference is an alarm: the level of chance, and limits of measures by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from penstock.config import strict_yaml
from penstock.core.errors import ConfigError, check_one_of, did_you_mean
from penstock.core.names import column_names

MEASURES = ("psi", "kolmogorov_smirnov", "jensen_shannon", "chi_square", "missing", "values", "range", "mean")


@dataclass(frozen=True, kw_only=True)
class DriftLimits:
    """When a difference is an alarm.

    Parameters
    ----------
    level : float, default=0.01
        How often there may be an alarm where nothing has changed: over all columns and measures together.
    limits : mapping of str to float, optional
        By measure, the largest value that is no alarm. Where a column has any limit, its other measures alarm nobody;
        without limits everything is an alarm that is not by chance.
    columns : mapping of str to mapping of str to float, optional
        Limits of single columns, which win over `limits`.
    ignore : sequence of str, optional
        Columns that are not compared.
    metrics : mapping of str to float, optional
        By metric of an evaluator, the largest change that is no alarm.

    Notes
    -----
    A value above its limit that chance explains at the level is no alarm: small samples do not cry wolf. ``psi`` and
    ``jensen_shannon`` go by the test of ``chi_square`` over the same cells, ``mean`` by that of ``kolmogorov_smirnov``.

    Raises
    ------
    ConfigError
        A measure is not known, a number is out of range, or `level` is not between 0 and 1.

    Examples
    --------
    >>> limits = DriftLimits(limits={"psi": 0.1}, columns={"age": {"missing": 0.02}})
    >>> limits.of("age"), limits.of("zone")
    ({'psi': 0.1, 'missing': 0.02}, {'psi': 0.1})
    """

    level: float = 0.01
    limits: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _is_number(self.level) or not 0 < self.level < 1:
            raise ConfigError(f"level is {self.level!r}, expected a number between 0 and 1", hint="0.01 is 1 %.")
        object.__setattr__(self, "ignore", column_names(self.ignore, "ignore of limits"))
        _check_limits("limits", self.limits, MEASURES)
        _check_limits("metrics", self.metrics, None)
        for name, limits in _mapping("columns", self.columns).items():
            _check_limits(f"limits of column {name!r}", limits, MEASURES)

    def of(self, column: str) -> dict[str, float]:
        """Return the limits of a column, by measure."""
        return {**self.limits, **self.columns.get(column, {})}

    @classmethod
    def read(cls, path: str | Path) -> DriftLimits:
        r"""Return the limits of a YAML file, which has the parameters by their names.

        Raises
        ------
        ConfigError
            It is no such file, see `strict_yaml.read`, or has another name in it.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "clicks.yaml")
        ...     _ = path.write_text("level: 0.001\ncolumns:\n  I1: {psi: 0.1}\n")
        ...     DriftLimits.read(path).of("I1")
        {'psi': 0.1}
        """
        values, places = strict_yaml.read(path)
        known = [each.name for each in fields(cls)]
        for name in values:
            if name not in known:
                problem = f"{places[name,].where}: drift has no {name!r}.{did_you_mean(name, known)}"
                raise ConfigError(problem, hint=f"Known: {', '.join(known)}.", path=str(path))
        try:
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error.message}", hint=error.hint, path=str(path)) from error


def _mapping(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} are {value!r:.100}, expected a mapping", hint="Write {psi: 0.1}.")
    return value


def _check_limits(what: str, limits: Any, known: tuple[str, ...] | None) -> None:
    for measure, limit in _mapping(what, limits).items():
        if known is not None:
            check_one_of(f"a measure of {what}", measure, known)
        if not _is_number(limit) or not limit >= 0:
            raise ConfigError(f"{measure} of {what} is {limit!r}, expected a number of 0 or more")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
