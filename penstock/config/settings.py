"""Settings from files and from the command line: each name checked, each value checked for its type."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from penstock.config import secrets, strict_yaml
from penstock.config.strict_yaml import Location, Place, Places, shorten
from penstock.core.errors import ConfigError, did_you_mean

_NAMES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Settings:
    """Values by name, and the place of each.

    Attributes
    ----------
    values : dict
        Plain values: booleans, numbers, texts, lists and dicts of them.
    places : dict
        By location: ``("conf", "spark.master")`` for a value inside another.

    Examples
    --------
    >>> class Parameters(BaseModel, extra="forbid"):
    ...     depth: int = 6
    >>> Settings({"depth": 8}).over(Settings({"depth": 4})).fill(Parameters)
    Parameters(depth=8)
    >>> Settings({"dept": 8}).fill(Parameters)
    Traceback (most recent call last):
    penstock.errors.ConfigError: parameters: 'dept' is not known. Did you mean 'depth'?
      Hint: Known: depth.
    """

    values: dict[str, Any] = field(default_factory=dict)
    places: Places = field(default_factory=dict, repr=False)

    def over(self, lower: Settings) -> Settings:
        """Return these values, and those of `lower` for names that are not among them."""
        kept = {at: place for at, place in lower.places.items() if at and at[0] not in self.values}
        return Settings({**lower.values, **self.values}, {**kept, **self.places})

    def split(self, apart: Callable[[str, Any], bool]) -> tuple[Settings, Settings]:
        """Return the settings that are not `apart`, by name and value, and those that are."""
        there = {name for name, value in self.values.items() if apart(name, value)}
        return self._of(self.values.keys() - there), self._of(there)

    def _of(self, names: Collection[str]) -> Settings:
        values = {name: value for name, value in self.values.items() if name in names}
        return Settings(values, {at: place for at, place in self.places.items() if at and at[0] in names})

    def section(self, *at: str | int) -> Settings:
        """Return the values of a mapping at a location, a name in another; none where it is not, or is left empty.

        Raises
        ------
        ConfigError
            It is no mapping.
        """
        value: Any = self.values
        for part in at:
            value = value.get(part) if isinstance(value, dict) else value[part]
        if value is not None and not isinstance(value, dict):
            raise ConfigError(f"{self.where(*at)}: {_dotted(at)!r} is {shorten(value)}, expected a mapping")
        places = {place[len(at) :]: found for place, found in self.places.items() if place[: len(at)] == at}
        return Settings(dict(value or {}), places)

    def only(self, *known: str) -> Settings:
        """Return the settings; ConfigError for a name that is not among `known`."""
        for name in self.values:
            if name not in known:
                raise self._unknown((name,), known)
        return self

    def fill(self, model: type[Model]) -> Model:
        """Return `model` made of these values, whose types are checked strictly: no text becomes a number.

        Raises
        ------
        ConfigError
            An unknown name, a missing one, or a value of another type; the message says where it stands, what was read
            and what is expected.
        """
        try:
            return model.model_validate_json(json.dumps(self.values), strict=True)
        except ValidationError as error:
            every = error.errors(include_url=False, include_context=False)
        details = min(every, key=lambda each: each["type"] != "extra_forbidden")
        # Not chained: pydantic prints values, some of which may be secret.
        raise self._refused(details, model)

    def _refused(self, details: Any, model: type[BaseModel]) -> ConfigError:
        at, kind, message = tuple(details["loc"]), details["type"], details["msg"]
        if kind == "extra_forbidden":
            return self._unknown(at, _known(model, at))
        if kind == "missing":
            section = self.places.get(())
            where, hint = (f"{section.where}: ", None) if section else ("", f"--set {_dotted(at)}=...")
            return ConfigError(f"{where}{_dotted(at)} is not given, and has no default", hint=hint)
        at, place = self._found(at)
        value = details["input"]
        read = "a hidden value" if place.hidden else f"{shorten(value)} ({_NAMES.get(type(value), 'null')})"
        if kind in ("value_error", "assertion_error"):
            return ConfigError(f"{place.where}: {_dotted(at)} is {read}: {message.partition(', ')[2]}")
        expected = re.sub(r"^Input should be (?=greater|less)", "a value ", message).removeprefix("Input should be ")
        return ConfigError(
            f"{place.where}: {_dotted(at)} is read as {read}, expected {expected}",
            hint=_remedy(place.text, value, expected),
        )

    def _unknown(self, at: Location, known: Sequence[str]) -> ConfigError:
        near = did_you_mean(str(at[-1]), known)
        message = f"{self.where(*at)}: {_dotted(at)!r} is not known.{near}"
        return ConfigError(message, hint=f"Known: {', '.join(known)}.")

    def _found(self, at: Location) -> tuple[Location, Place]:
        """Return the location that has a place: pydantic's has the branches of a union at its end."""
        known = [at[:length] for length in range(len(at), -1, -1) if at[:length] in self.places]
        return (known[0], self.places[known[0]]) if known else (at, Place("parameters"))

    def where(self, *at: str | int) -> str:
        """Return where a value, or the one that holds it, stands: file, line and column, or the option."""
        return self._found(at)[1].where


def read_yaml(path: str | Path) -> Settings:
    """Return the settings of a YAML file; what it may hold, and the errors, are those of `strict_yaml.read`."""
    return Settings(*strict_yaml.read(path))


def read_assignments(assignments: Sequence[str], model: type[BaseModel], option: str = "--set") -> Settings:
    """Return the settings of texts ``name=value``, each value read as the type of its field in `model`.

    ``null`` is no value. A text that begins with ``[`` or ``{``, or whose name has a dot, is read as YAML.

    Raises
    ------
    ConfigError
        A text without ``=``, without a name, or one that gives a name twice.

    Examples
    --------
    >>> class Parameters(BaseModel):
    ...     depth: int = 6
    ...     label: str = "label"
    >>> read_assignments(["depth=8", "label=no"], Parameters).values
    {'depth': 8, 'label': 'no'}
    """
    settings = Settings()
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        where = f"{option} {name}=..." if secrets.names_secret(name) else f"{option} {assignment}"
        if not equals or not name:
            raise ConfigError(f"{where} has no name or no '='", hint=f"Write {option} name=value.")
        if name in settings.values:
            raise ConfigError(f"{where}: {name!r} is given twice")
        settings.values[name] = _from_text(text, model, name, where)
        settings.places[name,] = Place(where, text, hidden=secrets.names_secret(name))
    return settings


def _from_text(text: str, model: type[BaseModel], name: str, where: str) -> Any:
    if text == "null":
        return None
    if text[:1] in ("[", "{") or "." in name:
        return strict_yaml.parse(f"value: {text}", where)[0]["value"]
    known = model.model_fields.get(name)
    if known is None:
        return text
    adapter: TypeAdapter[Any] = TypeAdapter(known.annotation)  # type: ignore[arg-type]
    try:
        value = adapter.dump_python(adapter.validate_strings(text), mode="json")
    except ValidationError:
        return text  # which is refused when the model is filled, with all others
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where}: {text} is not finite")
    return value


def _dotted(at: Location) -> str:
    return ".".join(str(part) for part in at)


def _known(model: type[BaseModel], at: Location) -> list[str]:
    """Return the names of the model, or of the model in it, that a location stands in."""
    for part in at[:-1]:
        inner = next((kind for kind in _models(model.model_fields.get(str(part)))), None)
        if inner is None:
            break
        model = inner
    return list(model.model_fields)


def _models(info: Any) -> Iterator[type[BaseModel]]:
    annotation = getattr(info, "annotation", None)
    for kind in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield kind


def _remedy(text: str, value: Any, expected: str) -> str | None:
    """Say what to write instead of a text that YAML reads as another type than it looks like."""
    if isinstance(value, bool | int | float) and text and "string" in expected:
        reads = "" if text == str(value).lower() else f"YAML reads {text} as {value!r}. "
        return f"{reads}Write it in quotes: '{text}'."
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+", value):
        return "YAML reads a number with an exponent only if it has a point and a sign: 1.0e+3."
    return None
