"""Which engines there are: those of this package, and those that other installed packages offer.

A package offers one by an entry point, whose name is the engine's and whose value is a class of `EngineSettings`::

    [options.entry_points]
    penstock.engines =
        ray = penstock_ray:RaySettings
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from penstock.core.errors import ConfigError
from penstock.engines.settings import EngineSettings

GROUP = "penstock.engines"

# No entry points of ours: on a cluster the package may come as a zip file, which has no metadata to read them from.
_OWN = tuple(
    EntryPoint(name, f"penstock.engines.{name}.settings:{name.title()}Settings", GROUP)
    for name in ("local", "dask", "spark")
)


def engine_names() -> list[str]:
    """Return the names of all engines, ours first."""
    return list(dict.fromkeys(point.name for point in _points()))


def settings_class(name: str) -> type[EngineSettings]:
    """Return the class of the settings of an engine, one of `engine_names`.

    Raises
    ------
    ConfigError
        Two packages offer an engine of this name, or what is offered cannot be imported or is no such class.
    """
    offers = [point for point in _points() if point.name == name]
    if len({point.value for point in offers}) > 1:
        packages = " and ".join(point.value for point in offers)
        raise ConfigError(f"engine {name!r} is offered twice, by {packages}", hint="Uninstall all packages but one.")
    try:
        kind = offers[0].load()
    except Exception as error:  # whatever the import of another package may raise
        raise ConfigError(f"engine {name!r} cannot be loaded from {offers[0].value}: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, EngineSettings)):
        raise ConfigError(f"engine {name!r}: {offers[0].value} is {kind!r}, expected a class of EngineSettings")
    return kind


def _points() -> list[EntryPoint]:
    return [*_OWN, *entry_points(group=GROUP)]
