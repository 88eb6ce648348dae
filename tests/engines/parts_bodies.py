"""What the tests of reductions in parts run on workers."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from penstock.statistics import ValueCounts


def in_brackets(states: Sequence[str]) -> str:
    return "(" + " ".join(states) + ")"


@dataclass(frozen=True)
class Letters:
    """Gives letters in as many parts, and puts brackets round those that are merged."""

    parts: int = 3

    def __call__(self, item: int) -> list[str]:
        return ["abc"[part] + str(item) for part in range(self.parts)]

    def merge(self, states: list[str]) -> str:
        return in_brackets(states)

    def prune(self, state: str) -> str:
        return state + "!"


@dataclass(frozen=True)
class Dies(Letters):
    """Ends its process when it merges what `victim` begins with, once."""

    marker: str = ""

    def merge(self, states: list[str]) -> str:
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os._exit(1)
        return super().merge(states)


@dataclass(frozen=True)
class Watched(ValueCounts):
    """Notes in a folder how many rows each merge on a worker gives."""

    folder: str = ""

    def merge_column_consuming(self, states: list[Any]) -> Any:
        merged = super().merge_column_consuming(states)
        (Path(self.folder) / f"{uuid4().hex}-{os.getpid()}").write_text(str(rows_of(merged)))
        return merged


def rows_of(state: Mapping[str, Any]) -> int:
    tables: list[pa.Table] = state["shards"] if "shards" in state else [state["table"]]
    return sum(table.num_rows for table in tables)
