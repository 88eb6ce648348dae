"""Engines from configuration: what a file may say of each, and how one is started from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from penstock.config.settings import Settings, read_yaml
from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.progress import Progress
from penstock.engines.base import Engine

Choice = Literal["auto", "cpu", "gpu"]


class _Arguments(BaseModel, extra="forbid", frozen=True):
    """What a file says of an engine; None where it leaves the class its own default."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the class that the file gives."""
        return {name: value for name, value in self if name != "engine" and value is not None}


class LocalSettings(_Arguments, frozen=True):
    """The parameters of `LocalEngine`."""

    engine: Literal["local"] = "local"
    device: Choice | None = None
    in_flight: int | None = Field(default=None, ge=1)

    def start(self, progress: Progress | None) -> Engine:
        """Return the engine."""
        from penstock.engines.local.engine import LocalEngine

        return LocalEngine(**self.arguments(), progress=progress)


class DaskSettings(_Arguments, frozen=True):
    """The parameters of `DaskEngine`; without a cluster one is started on this machine."""

    engine: Literal["dask"] = "dask"
    device: Choice | None = None
    cluster: str | dict[str, Any] | None = None
    allow_insecure: bool | None = None
    no_workers_timeout: float | None = Field(default=None, gt=0)
    timeout: float | None = Field(default=None, ge=1)

    def start(self, progress: Progress | None) -> Engine:
        """Return the engine, connected to its workers."""
        from penstock.engines.dask.engine import DaskEngine

        return DaskEngine(**self.arguments(), progress=progress)


class SparkSettings(_Arguments, frozen=True):
    """The parameters of `SparkEngine`; without settings it uses the session that runs, or starts one."""

    engine: Literal["spark"] = "spark"
    device: Choice | None = None
    conf: dict[str, str | bool | int | float] | None = None

    def start(self, progress: Progress | None) -> Engine:
        """Return the engine, on a session."""
        from penstock.engines.spark.engine import SparkEngine

        return SparkEngine(**self.arguments(), progress=progress)


EngineSettings = LocalSettings | DaskSettings | SparkSettings
_KINDS: dict[str, type[EngineSettings]] = {"local": LocalSettings, "dask": DaskSettings, "spark": SparkSettings}


def engine_settings(
    name: str | None,
    device: str | None,
    conf: Settings,
    folder: Path,
    environ: Mapping[str, str] | None = None,
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

    Raises
    ------
    ConfigError
        There is no such engine or file, or the file says something that the engine does not know.

    Examples
    --------
    >>> engine_settings("local", "cpu", Settings(), Path("conf/engines"))
    LocalSettings(engine='local', device='cpu', in_flight=None)
    """
    submitted = "PYSPARK_GATEWAY_PORT" in (os.environ if environ is None else environ)
    if submitted and name in (None, "spark"):
        found = Settings({"engine": "spark"})
    elif name is not None:
        found = _named(name, folder)
    else:
        found = conf if conf.values else _named("local", folder)
    if device is not None:
        found = Settings({"device": device}).over(found)
    return _checked(found)


def _named(name: str, folder: Path) -> Settings:
    if name.endswith((".yaml", ".yml")):
        return read_yaml(name)
    path = folder / f"{name}.yaml"
    if path.is_file():
        return read_yaml(path)
    if name in _KINDS:
        return Settings({"engine": name})
    known = sorted({*_KINDS, *(path.stem for path in folder.glob("*.yaml"))})
    raise ConfigError(
        f"engine {name!r} is not known, expected one of {', '.join(known)}.{did_you_mean(name, known)}",
        hint=f"Give the path of a YAML file, or write {path}.",
    )


def _checked(found: Settings) -> EngineSettings:
    kind = found.values.get("engine")
    if kind not in _KINDS:
        raise ConfigError(
            f"{found.where('engine')}: engine is {kind!r}, expected one of {', '.join(_KINDS)}."
            + did_you_mean(str(kind), _KINDS)
        )
    return found.fill(_KINDS[kind])
