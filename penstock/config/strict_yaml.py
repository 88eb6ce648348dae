"""YAML read strictly: plain values only, each with the file, line and column where it stands."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from penstock.config import secrets
from penstock.core.errors import ConfigError
from penstock.core.locations import local_path
from penstock.core.redaction import holds_secret

LIMIT = 256 * 1024
"""The largest configuration file, in bytes."""
MAX_DEPTH = 32
_AMBIGUOUS = re.compile(r"[-+]?(0[0-9_]+|[0-9_]+(:[0-9_]+)+(\.[0-9_]*)?)")
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null")}
_TEXTS = {f"tag:yaml.org,2002:{name}" for name in ("str", "timestamp")}

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Where a value stands, and how it is written there; ``hidden`` when it must not be printed."""

    where: str
    text: str = ""
    hidden: bool = False


Places = dict[Location, Place]


def read(path: str | Path) -> tuple[dict[str, Any], Places]:
    """Return the values of a YAML file, and where each stands; an empty file has none.

    Values of the form ``env:NAME`` are read from the environment.

    Raises
    ------
    ConfigError
        The file is not there or larger than 256 KiB; it is no mapping of texts to plain values; it has a key twice,
        an alias, a tag, NaN or an infinity, or is nested deeper than 32; or it holds a secret. The message names file,
        line, column and rule, and never a secret.
    """
    path = Path(local_path(path, "configuration"))
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", path=str(path)) from error
    if len(data) > LIMIT:
        raise ConfigError(f"{path} is larger than {LIMIT} bytes, expected a configuration", path=str(path))
    try:
        return parse(data.decode(), str(path))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: byte {error.start} cannot be read", path=str(path)) from error


def parse(text: str, source: str) -> tuple[dict[str, Any], Places]:
    """Return the values of a YAML text, and where each stands; `source` is its name in messages, see `read`.

    Examples
    --------
    >>> values, places = parse("seed: 7", "job.yaml")
    >>> values, places["seed",].where
    ({'seed': 7}, 'job.yaml, line 1, column 7')
    """
    try:
        _check_events(text, source)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{_at(source, error.problem_mark)}: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{source} is not YAML: {str(error).partition(chr(10))[0]}") from error
    reader = _Reader(source)
    if root is None:
        return {}, {}
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{_at(source, root.start_mark)}: expected names and values, as in 'name: value'")
    return reader.mapping(root, ()), reader.places


def _check_events(text: str, source: str) -> None:
    """Refuse aliases, depth and a second document before anything is built from them."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        rule = (
            "an alias, which is not allowed; write the value out" if isinstance(event, yaml.AliasEvent)
            else f"nested deeper than {MAX_DEPTH} levels" if depth > MAX_DEPTH
            else "a second document; a configuration has one" if documents > 1
            else None
        )  # fmt: skip
        if rule:
            raise ConfigError(f"{_at(source, event.start_mark)}: {rule}")


class _Reader:
    """Turns nodes into plain values, and notes where each stands."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.places: Places = {}

    def mapping(self, node: yaml.MappingNode, at: Location) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, child in node.value:
            if key.tag not in _TEXTS:
                raise self._error(key, f"the key {shorten(key.value)} is not read as text; write it in quotes")
            if key.value in made:
                raise self._error(key, f"key {key.value!r} stands twice")
            made[key.value] = self._value(child, (*at, key.value))
        return made

    def _value(self, node: yaml.Node, at: Location) -> Any:
        self.places[at] = Place(_at(self.source, node.start_mark), node.value if isinstance(node.value, str) else "")
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, (*at, place)) for place, child in enumerate(node.value)]
        return self._scalar(node, at)

    def _scalar(self, node: yaml.Node, at: Location) -> Any:
        name = secrets.referenced(node.value) if node.tag in _TEXTS else None
        if name is not None:
            self.places[at] = Place(_at(self.source, node.start_mark), hidden=True)
            return secrets.resolve(name, _at(self.source, node.start_mark))
        value = node.value if node.tag in _TEXTS else self._plain(node)
        self._refuse_secret(node, at, value)
        return value

    def _plain(self, node: yaml.Node) -> Any:
        if node.tag not in _TAGS:
            raise self._error(node, f"a value of type {node.tag.rpartition(':')[2]}, which is not plain")
        if _AMBIGUOUS.fullmatch(node.value):
            raise self._error(node, f"{node.value} is a number in base 8 or 60; write it in base 10, or in quotes")
        try:
            value = yaml.constructor.SafeConstructor().construct_object(node)
        except (ValueError, LookupError) as error:
            raise self._error(node, f"{shorten(node.value)} is not of type {node.tag.rpartition(':')[2]}") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"{node.value} is not a finite number")
        return value

    def _refuse_secret(self, node: yaml.Node, at: Location, value: Any) -> None:
        key = next((str(part) for part in reversed(at) if isinstance(part, str)), "")
        named = secrets.names_secret(key) and not isinstance(value, bool | None)
        if named or holds_secret(node.value):
            error = self._error(node, f"{key!r} holds a secret in plain text")
            error.hint = f"Set it in the environment, and write {key}: env:NAME."
            raise error

    def _error(self, node: yaml.Node, rule: str) -> ConfigError:
        return ConfigError(f"{_at(self.source, node.start_mark)}: {rule}")


def shorten(value: Any, most: int = 60) -> str:
    """Return a value as it stands in a message, cut after `most` characters."""
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."


def _at(source: str, mark: Any) -> str:
    return source if mark is None else f"{source}, line {mark.line + 1}, column {mark.column + 1}"
