"""Statistics that a model keeps: their states as JSON and tables, beside what was learned of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.artefact.state import Encoder, decode
from penstock.artefact.tables import canonical_table
from penstock.core.errors import ArtifactError

STATISTICS = "kept-statistics"
"""The feature of a model that keeps statistics: the code before does not read them."""

_ROWS, _COUNT = "#", "+"

Stored = Mapping[tuple[int, str], tuple[str, Any]]
"""By the position of a stage and the name of a statistic: what the statistic is, in words, and its state."""


@dataclass(frozen=True)
class SavedStatistics:
    """What a saved model keeps of its statistics, and what else says which model it is.

    Attributes
    ----------
    statistics : mapping of (int, str) to (str, state)
    rest : mapping of str to str
        By path, the sha256 of the files of stages, of the schema, and of what stages learned that keep no statistics.
    """

    statistics: Stored
    rest: Mapping[str, str]


def is_statistics(path: str) -> bool:
    """Return whether a file of a model is of the statistics that it keeps.

    Examples
    --------
    >>> is_statistics(statistics_path(2)), is_statistics("state/2.json")
    (True, False)
    """
    return "statistics" in path.split("/")[:-1]


def statistics_path(stage: int) -> str:
    """Return the path of the statistics of stage number `stage`.

    Examples
    --------
    >>> statistics_path(2)
    'statistics/2.json'
    """
    return f"statistics/{stage}.json"


class StatisticsEncoder(Encoder):
    """Puts tables into the folder of statistics, those of one schema below each other in one file.

    A vocabulary of each of many columns is then one file to hash and to decode, and not one a column.
    """

    def _keep(self, kept: dict[str, Any], value: Any, kind: str) -> str:
        path = next((path for path, table in kept.items() if table.schema == value.schema), None)
        path = path or f"statistics/{self.number}.{len(kept)}.{kind}"
        above = [kept[path]] if path in kept else []
        kept[path] = pa.concat_tables([*above, value])
        return f"{path}{_ROWS}{sum(map(len, above))}{_COUNT}{len(value)}"


def rows_of(place: str) -> tuple[str, slice]:
    """Return the path of a file, and which of its rows a place names: all, unless it says which.

    Examples
    --------
    >>> rows_of("statistics/2.0.parquet#10+5")
    ('statistics/2.0.parquet', slice(10, 15, None))
    """
    path, _, rows = place.partition(_ROWS)
    if not rows:
        return path, slice(None)
    first, _, count = rows.partition(_COUNT)
    if not (first.isascii() and first.isdigit() and count.isascii() and count.isdigit()):
        raise ArtifactError(f"{place!r:.200} names no rows of a table", path=path)
    return path, slice(int(first), int(first) + int(count))


def encode_statistics(stored: Stored, stages: int) -> list[tuple[StatisticsEncoder, Any]]:
    """Return, for each stage that has any, what holds its tables, and the document of its statistics.

    Raises
    ------
    UnsupportedStepError
        A state is neither JSON nor tables.
    """
    documents = []
    for number in range(stages):
        own = {name: pair for (stage, name), pair in stored.items() if stage == number}
        if own:
            encoder = StatisticsEncoder(number, f"the statistics of stage {number}")
            states = {name: {"statistic": told, "state": encoder.encode(state)} for name, (told, state) in own.items()}
            documents.append((encoder, states))
    return documents


def decode_statistics(number: int, document: Any, part: Callable[[str, str], Any]) -> dict[tuple[int, str], Any]:
    """Return the statistics of a stage; `part` gives the table of a path.

    Raises
    ------
    ArtifactError
        The document is none of statistics.
    """
    path = statistics_path(number)
    if not isinstance(document, dict):
        raise ArtifactError(f"{path} is no object", path=path)
    found = {}
    for name, entry in document.items():
        if not isinstance(entry, dict) or entry.keys() != {"statistic", "state"} or type(entry["statistic"]) is not str:
            raise ArtifactError(f"{name!r:.100} in {path} is no statistic", path=path)
        found[number, name] = (entry["statistic"], decode(entry["state"], part))
    return found


def canonical_state(state: Any) -> Any:
    """Return a state with its tables in the types in which they come back when they were saved.

    Examples
    --------
    >>> canonical_state({"a": [pa.table({"s": pa.array(["x"], pa.large_string())})]})["a"][0].schema.field("s").type
    DataType(string)
    """
    if isinstance(state, pa.Table):
        return canonical_table(state)
    if isinstance(state, Mapping):
        return {name: canonical_state(value) for name, value in state.items()}
    if isinstance(state, list | tuple):
        return [canonical_state(value) for value in state]
    return state
