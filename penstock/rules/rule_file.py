"""Rules from a YAML file: a list under ``rules``, of entries such as ``unique: [id]``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from penstock import rules
from penstock.config.strict_yaml import shorten
from penstock.config.yaml_entries import read_entries
from penstock.core.errors import ConfigError, did_you_mean
from penstock.rules.base import DatasetRule

_EXAMPLE = 'Write "- unique: [id]", or "- null_share: {column: age, most: 0.1}".'


def rule_kinds() -> dict[str, type[DatasetRule]]:
    """Return every rule by its name in files: that of the class, in lower case.

    Examples
    --------
    >>> sorted(rule_kinds())[:3]
    ['between', 'bounds', 'condition']
    """
    kinds = [each for each in (getattr(rules, name) for name in rules.__all__) if inspect.isclass(each)]
    made = [each for each in kinds if issubclass(each, DatasetRule) and not inspect.isabstract(each)]
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in made}


def read_rules(path: str | Path) -> list[DatasetRule]:
    r"""Return the rules of a file.

    An entry has one rule, and what it takes by name; or, where that is its first parameter alone, only the value.

    Raises
    ------
    ConfigError
        It is no such file, see `strict_yaml.read`; or an entry is none: says file, line, which entry, and why.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "clicks.yaml")
    ...     _ = path.write_text("rules:\n- unique: [id]\n- between: {column: age, least: 0, severity: warn}\n")
    ...     [each.title for each in read_rules(path)]
    ["Unique(['id'])", "Between('age', least=0)"]
    """
    return read_entries(path, "rules", _EXAMPLE, _rule_of)


def _rule_of(entry: Any) -> DatasetRule:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ConfigError(f"found {shorten(entry)}, expected one rule and what it takes", hint=_EXAMPLE)
    ((name, given),) = entry.items()
    kinds = rule_kinds()
    if name not in kinds:
        raise ConfigError(f"{name!r} is no rule.{did_you_mean(name, kinds)}", hint=f"Known: {', '.join(kinds)}.")
    takes = [each for each in fields(kinds[name]) if each.init]
    return kinds[name](**_arguments(name, given, takes))


def _arguments(name: str, given: Any, takes: Iterable[Field[Any]]) -> dict[str, Any]:
    known = [each.name for each in takes]
    first = next((each.name for each in takes if not each.kw_only), None)
    if not isinstance(given, Mapping):
        if first is None:
            raise ConfigError(f"{name} is {shorten(given)}, expected a mapping", hint=f"Known: {', '.join(known)}.")
        given = {first: given}
    for each in given:
        if each not in known:
            problem = f"{name} has no {each!r}.{did_you_mean(each, known)}"
            raise ConfigError(problem, hint=f"Known: {', '.join(known)}.")
    missing = [each.name for each in takes if each.default is MISSING and each.name not in given]
    if missing:
        raise ConfigError(f"{name} lacks {', '.join(missing)}", hint=f"It takes {', '.join(known)}.")
    return dict(given)
