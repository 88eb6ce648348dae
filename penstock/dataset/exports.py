"""Datasets as frames of the libraries behind their engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.core.errors import ConfigError

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class Exports:
    """The part of a dataset that hands its rows on."""

    def to_spark(self) -> Any:
        """Return a lazy Spark DataFrame, of a dataset on the Spark engine; see `SparkEngine.to_spark`."""
        return self._exported("to_spark", "SparkEngine")

    def to_dask(self) -> Any:
        """Return a lazy Dask DataFrame, of a dataset on the Dask engine; see `DaskEngine.to_dask`."""
        return self._exported("to_dask", "DaskEngine")

    def _exported(self, method: str, owner: str) -> Any:
        dataset = cast("Dataset", self)
        export = getattr(dataset.engine, method, None)
        if export is None:
            raise ConfigError(
                f"{method} needs a dataset of a {owner}, found one of {type(dataset.engine).__name__}",
                hint=f"Read the data with a {owner}, or write it and read what is written.",
            )
        return export(dataset)
