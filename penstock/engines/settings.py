"""Engines from configuration: what a file may say of each, and how one is started from it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from penstock.config.settings import Settings, read_yaml
from penstock.core.errors import ConfigError, check_one_of
from penstock.core.progress import Progress
from penstock.core.recording import step
from penstock.engines.base import Engine


class EngineSettings(BaseModel, ABC, extra="forbid", frozen=True):
    """What a file may say of an engine; None where it leaves the class its own default.

    Attributes
    ----------
    engine : str
        The name of the engine, which is its default.
    """

    engine: str
    device: Literal["auto", "cpu", "gpu"] | None = None

    @abstractmethod
    def start(self, progress: Progress | None) -> Engine:
        """Return the engine, connected to its workers."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the class that the file gives."""
        return {name: value for name, value in self if name != "engine" and value is not None}


class OwnEngineSettings(EngineSettings, ABC, frozen=True):
    """What a file may say of an engine of this package, which lies in the folder of its name, and is called by it."""

    def start(self, progress: Progress | None) -> Engine:
        with step("start"):
            module = import_module(f"penstock.engines.{self.engine}.engine")
            engine: Engine = getattr(module, f"{self.engine.title()}Engine")(**self.arguments(), progress=progress)
        return engine


def engine_settings(
    name: str | None,
    device: str | None,
    conf: Settings,
    folder: Path,
    environ: Mapping[str, str] | None = None,
    *,
    staging_dir: str | None = None,
) -> EngineSettings:
    """Return the settings of the engine to use.

    Parameters
    ----------
    name : str or None
        ``<folder>/<name>.yaml``; or, where there is no such file, ``local``, ``dask`` or ``spark`` as they are by
        default; or the path of a YAML file. It wins over `conf`.
    device : str or None
        Wins over the device of the file.
    conf : Settings
        An ``engine`` section, used when there is no name.
    folder : Path
        Where the files are.
    environ : mapping, optional
        Where spark-submit is looked for, the process's environment by default. Under spark-submit the engine is Spark
        unless another is named, and its session is the submitted one: `folder` is not asked for ``spark``.
    staging_dir : str, optional
        Wins over that of the file.

    Raises
    ------
    ConfigError
        There is no such engine or file, or the file says something that the engine does not know.

    Examples
    --------
    >>> engine_settings("local", "cpu", Settings(), Path("conf/engines"))
    LocalSettings(engine='local', device='cpu', in_flight=None, staging_dir=None)
    """
    submitted = "PYSPARK_GATEWAY_PORT" in (os.environ if environ is None else environ)
    if submitted and name in (None, "spark"):
        found = Settings({"engine": "spark"})
    elif name is not None:
        found = _named(name, folder)
    else:
        found = conf if conf.values else _named("local", folder)
    given = {"device": device, "staging_dir": staging_dir}
    named = {key: value for key, value in given.items() if value is not None}
    return _checked(Settings(named).over(found) if named else found)


def _named(name: str, folder: Path) -> Settings:
    if name.endswith((".yaml", ".yml")):
        return read_yaml(name)
    path = folder / f"{name}.yaml"
    if path.is_file():
        return read_yaml(path)
    known = sorted({*engine_names(), *(path.stem for path in folder.glob("*.yaml"))})
    check_one_of("engine", name, known, hint=f"Give the path of a YAML file, or write {path}.")
    return Settings({"engine": name})


def _checked(settings: Settings) -> EngineSettings:
    name = settings.values.get("engine")
    check_one_of(f"{settings.where('engine')}: engine", name, engine_names())
    return settings.fill(settings_class(str(name)))


GROUP = "penstock.engines"
"""The entry points by which other installed packages offer engines: the name of one, and its class of settings::

    [options.entry_points]
    penstock.engines =
        ray = penstock_ray:RaySettings
"""

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
