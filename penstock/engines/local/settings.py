"""What a configuration file may say of the local engine."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from penstock.engines.settings import OwnEngineSettings


class LocalSettings(OwnEngineSettings, frozen=True):
    """The parameters of `LocalEngine`."""

    engine: Literal["local"] = "local"
    in_flight: int | None = Field(default=None, ge=1)
    staging_dir: str | None = None
    storage_options: dict[str, Any] | None = Field(default=None, repr=False)
