"""What a configuration file may say of the engine on Dask."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from penstock.engines.settings import OwnEngineSettings


class DaskSettings(OwnEngineSettings, frozen=True):
    """The parameters of `DaskEngine`; without a cluster one is started on this machine."""

    engine: Literal["dask"] = "dask"
    cluster: str | dict[str, Any] | None = None
    allow_insecure: bool | None = None
    no_workers_timeout: float | None = Field(default=None, gt=0)
    timeout: float | None = Field(default=None, ge=1)
    priority: int | None = None
    speculation: bool | None = None
    staging_dir: str | None = None
    storage_options: dict[str, Any] | None = Field(default=None, repr=False)
