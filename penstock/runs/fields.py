"""Fields of ``run.json`` by dotted names, and conditions on them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from penstock.core.errors import ConfigError

_CONDITION = re.compile(r"([^=!<>]+)(==?|!=|<=?|>=?)(.*)", re.DOTALL)
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def get_field(values: Any, name: str) -> Any:
    """Return the value of a dotted name, of lists by place; None where there is none. Keys may have dots themselves.

    Examples
    --------
    >>> get_field({"metrics": {"tree.rmse": 0.5}, "inputs": [{"rows": 3}]}, "metrics.tree.rmse")
    0.5
    >>> get_field({"inputs": [{"rows": 3}]}, "inputs.0.rows")
    3
    """
    if isinstance(values, Sequence) and not isinstance(values, str):
        values = {str(place): value for place, value in enumerate(values)}
    if not isinstance(values, Mapping):
        return None
    if name in values:
        return values[name]
    parts = name.split(".")
    heads = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    inner = (get_field(values[head], name[len(head) + 1 :]) for head in heads if head in values)
    return next((value for value in inner if value is not None), None)


def flatten(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted names with their plain values; mappings of a list that have a path go by it, else by their place.

    Examples
    --------
    >>> list(flatten({"engine": {"name": "local"}, "inputs": [{"path": "a.csv", "rows": 3}]}))
    [('engine.name', 'local'), ('inputs.a.csv.rows', 3)]
    """
    for name, value in values.items():
        if isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
            value = dict(_keyed(place, each) for place, each in enumerate(value))
        if isinstance(value, Mapping):
            yield from flatten(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value


def with_time(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with ``started`` as a text of ISO 8601, in UTC.

    Examples
    --------
    >>> with_time({"started": 0.0})
    {'started': '1970-01-01T00:00:00Z'}
    """
    if info.get("started") is None:
        return dict(info)
    started = datetime.fromtimestamp(info["started"], UTC)
    return {**info, "started": f"{started:%Y-%m-%dT%H:%M:%SZ}"}


@dataclass(frozen=True)
class FieldCondition:
    """A condition on a field.

    Examples
    --------
    >>> FieldCondition.parse("metrics.rmse<0.6").holds({"metrics": {"rmse": 0.5}})
    True
    >>> FieldCondition.parse("name=click*").holds({"name": "clicks"})
    True
    """

    field: str
    sign: str
    value: str

    @classmethod
    def parse(cls, text: str) -> FieldCondition:
        """Return the condition that a text says: a field, one of ``= != < <= > >=``, a value.

        Raises
        ------
        ConfigError
            It says none.
        """
        found = _CONDITION.fullmatch(text)
        if found is None:
            hint = "Write field=value, or another of != < <= > >=, such as metrics.rmse<0.6; a value may have * in it."
            raise ConfigError(f"where is {text!r}, expected a condition on a field", hint=hint)
        return cls(found[1].strip(), "=" if found[2] == "==" else found[2], found[3].strip())

    def holds(self, info: Mapping[str, Any]) -> bool:
        """Return whether it does: numbers are compared as such, others as texts; what is not there is only unequal."""
        value = get_field(info, self.field)
        if value is None:
            return self.sign == "!="
        one, other = _comparable(value, self.value)
        if self.sign in _ORDERS:
            return _ORDERS[self.sign](one, other)
        equal = one == other or fnmatchcase(str(one), str(other))
        return equal == (self.sign == "=")


def _keyed(place: int, value: Any) -> tuple[str, Any]:
    if isinstance(value, Mapping) and "path" in value:
        return str(value["path"]), {name: each for name, each in value.items() if name != "path"}
    return str(place), value


def _comparable(value: Any, text: str) -> tuple[Any, Any]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value), float(text)
        except ValueError:
            return str(value), text
    return (str(value).lower() if isinstance(value, bool) else str(value)), text
