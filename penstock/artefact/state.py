"""What a stage learned as JSON, with Arrow tables and model files put beside it.

An object with one key that begins with ``$`` stands for something JSON has no word for: ``{"$table": path}``,
``{"$blob": path}``, ``{"$float": "inf"}``. A mapping's own keys that begin with ``$`` are written with two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.artefact.layout import BLOB_KINDS, PARQUET, PIPELINE, part_path
from penstock.artefact.tables import canonical_table
from penstock.core.errors import ArtifactError, UnsupportedStepError, UntrustedArtifactError
from penstock.io.sinks import Json
from penstock.stages.base import Blob

_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass
class Encoder:
    """Turns the values of one stage into JSON, and keeps the tables and model files it meets by their paths.

    Examples
    --------
    >>> encoder = Encoder(0, "StandardScaler")
    >>> encoder.encode({"x": {"mean": 0.5, "seen": pa.table({"value": [1]})}}), list(encoder.tables)
    ({'x': {'mean': 0.5, 'seen': {'$table': 'state/0.0.parquet'}}}, ['state/0.0.parquet'])
    """

    number: int
    stage: str
    tables: dict[str, pa.Table] = field(default_factory=dict)
    blobs: dict[str, Blob] = field(default_factory=dict)

    def encode(self, value: Any, place: str = "fitted") -> Json:
        """Return `value` as JSON.

        Raises
        ------
        UnsupportedStepError
            It is neither JSON, nor a table, nor a model file of a kind that loads without running code.
        """
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"$float": str(float(value))}
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, pa.Table):
            return {"$table": self._keep(self.tables, canonical_table(value), PARQUET)}
        if isinstance(value, Blob) and value.kind in BLOB_KINDS:
            return {"$blob": self._keep(self.blobs, value, value.kind)}
        if isinstance(value, list | tuple):
            return [self.encode(item, f"{place}[{position}]") for position, item in enumerate(value)]
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            items = {key: self.encode(item, f"{place}[{key!r}]") for key, item in value.items()}
            return {f"${key}" if key.startswith("$") else key: item for key, item in items.items()}
        raise UnsupportedStepError(
            f"{place} of {self.stage} is {value!r:.100}, which cannot be stored without storing code",
            hint="Learn plain numbers, strings, lists, dicts with string keys, Arrow tables, or a Blob of "
            f"{', '.join(BLOB_KINDS)}.",
            stage=self.stage,
        )

    def _keep(self, kept: dict[str, Any], value: Any, kind: str) -> str:
        path = part_path(self.number, len(self.tables) + len(self.blobs), kind)
        kept[path] = value
        return path


def decode(document: Any, part: Callable[[str, str], Any]) -> Any:
    """Return the value that :class:`Encoder` made `document` of.

    Parameters
    ----------
    document : parsed JSON
    part : callable
        Gives the table or model file for ``("$table" or "$blob", path)``.

    Raises
    ------
    ArtifactError
        An object is marked as something unknown.
    """
    if isinstance(document, list):
        return [decode(item, part) for item in document]
    if not isinstance(document, dict):
        return document
    marked = [key for key in document if key.startswith("$") and not key.startswith("$$")]
    if marked:
        return _special(marked[0], document, part)
    return {key[1:] if key.startswith("$$") else key: decode(item, part) for key, item in document.items()}


def decode_parameters(name: str, document: Any, make: Callable[[Any], Any]) -> Any:
    """Return the stage or evaluator that `make` makes of its decoded parameters.

    Raises
    ------
    ArtifactError
        It does not take them.
    """
    try:
        return make(decode(document, _no_part))
    except Exception as error:  # it may stumble over any value that is not what it wrote
        message = f"{name} does not take its stored parameters: {error}"
        raise ArtifactError(message, path=PIPELINE, stage=name) from error


def _no_part(mark: str, path: str) -> Any:
    raise UntrustedArtifactError(f"a parameter refers to the file {path!r}", path=PIPELINE)


def _special(mark: str, document: Mapping[str, Any], part: Callable[[str, str], Any]) -> Any:
    value = document[mark]
    if len(document) == 1 and isinstance(value, str):
        if mark == "$float" and value in _FLOATS:
            return _FLOATS[value]
        if mark in ("$table", "$blob"):
            return part(mark, value)
    raise ArtifactError(f"a stored value is marked {mark!r} with {value!r:.100}, which means nothing")
