"""Batches that ranks of XGBoost show each other: the same on all, of plain bytes, and checked where they could harm."""

import ast
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from xgboost import collective

import penstock
from penstock.errors import ExecutionError
from penstock.stages.training.trees._exchange import broadcast
from penstock.stages.training.trees._matrix import Batch

X = np.arange(6, dtype=np.float32).reshape(3, 2)
Y = np.array([0, 1, 2], np.float32)
WORDS = pa.array(["left out", "fig", "", "pärchen", "plum"]).slice(1, 3)
BATCHES = {
    "dense": Batch(X, Y, None),
    "column order": Batch(np.asfortranarray(X), Y, Y / 2),
    "one-hot": Batch(X, np.eye(3, dtype=np.float32), None),
    "sparse": Batch(sparse.csr_matrix(X), Y, None),
    "numbers": Batch(X, Y, None, group=pa.array([3, -1, 2], pa.int16())),
    "text": Batch(X, Y, Y, group=WORDS),
    "no rows": Batch(X[:0], Y[:0], Y[:0], group=WORDS.slice(0, 0)),
    "no features": Batch(sparse.csr_matrix((3, 0), dtype=np.float32), Y, None),
}


class Wire:
    """Two ranks, one after the other: the first gives its bytes, the second receives what became of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[np.ndarray], np.ndarray]) -> None:
        self._layout: Any = None
        self._sent: list[np.ndarray] = []
        self._spoil = spoil
        monkeypatch.setattr(collective, "allreduce", self.allreduce)

    def allreduce(self, data: np.ndarray, op: collective.Op) -> np.ndarray:
        assert (data.dtype, op) == (np.uint8, collective.Op.BITWISE_OR)
        if self._sending:
            self._sent.append(data.copy())
            return data
        return self._spoil(data | self._sent.pop(0))

    def gather(self, value: Any) -> list[Any]:
        self._layout = value if self._sending else self._layout
        return [self._layout, None]

    def send(self, batch: Batch) -> Batch:
        """Return what rank 1 receives from rank 0."""
        for index, own in enumerate((batch, None)):
            self._sending = index == 0
            received = broadcast(SimpleNamespace(index=index, size=2, gather=self.gather), own, 0)  # type: ignore[arg-type]
        return received


def plain(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else values


def listed(group: pa.Array | None) -> list[Any] | None:
    return None if group is None else group.to_pylist()


def test_the_other_rank_receives_the_batch(monkeypatch: pytest.MonkeyPatch, subtests: Any) -> None:
    for case, batch in BATCHES.items():
        with subtests.test(case):
            received = Wire(monkeypatch, lambda data: data).send(batch)
            assert type(received.features) is type(batch.features)
            np.testing.assert_array_equal(plain(received.features), plain(batch.features), strict=True)
            np.testing.assert_array_equal(received.label, batch.label, strict=True)
            assert (received.weight is None) == (batch.weight is None)
            if batch.weight is not None:
                np.testing.assert_array_equal(received.weight, batch.weight, strict=True)
            assert listed(received.group) == listed(batch.group)


def test_a_stranger_spoils_numbers_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in ("dense", "one-hot", "numbers"):
        received = Wire(monkeypatch, np.invert).send(BATCHES[case])
        assert received.features.shape == BATCHES[case].features.shape
        assert not (received.features == BATCHES[case].features).any()


def test_places_that_point_elsewhere_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in ("sparse", "text"):
        with pytest.raises(ExecutionError, match="what came from rank 0 over XGBoost's connections is not what it se"):
            Wire(monkeypatch, np.invert).send(BATCHES[case])


@pytest.mark.thorough
def test_no_object_is_exchanged_over_connections_that_ask_for_no_key() -> None:
    for path in Path(penstock.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "collective" in text else ():
            if isinstance(node, ast.ImportFrom) and node.module == "xgboost.collective":
                assert "broadcast" not in {each.name for each in node.names}, f"{path}, line {node.lineno}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("collective", "broadcast"), f"{path}, line {node.lineno}"
