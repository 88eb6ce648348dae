"""What a configuration file may say of the engine on Spark."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from penstock.engines.settings import OwnEngineSettings


class SparkSettings(OwnEngineSettings, frozen=True):
    """The parameters of `SparkEngine`; without settings it uses the session that runs, or starts one."""

    engine: Literal["spark"] = "spark"
    conf: dict[str, str | bool | int | float] | None = None
    pool: str | None = None
    staging_dir: str | None = None
    storage_options: dict[str, Any] | None = Field(default=None, repr=False)
