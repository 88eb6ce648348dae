"""Saved models, and what somebody who can write to their directory could do to them."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.engines.local import LocalEngine
from penstock.io.sinks import MANIFEST_NAME
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages import BinaryClassificationEvaluator, Imputer, StandardScaler, StringIndexer, XGBoostClassifier

ROWS = 120


def _table() -> pa.Table:
    generator = np.random.default_rng(5)
    return pa.table(
        {
            "x": pa.array(generator.normal(size=ROWS), mask=np.arange(ROWS) % 7 == 0),
            "c": generator.choice(["a", "b", "größe"], ROWS),
            "label": generator.integers(0, 2, ROWS),
        }
    )


@pytest.fixture(scope="session")
def dataset():
    return LocalEngine(device="cpu").from_arrow(_table())


@pytest.fixture(scope="session")
def model(dataset) -> PipelineModel:
    """Numbers, a table, a booster and an evaluator."""
    trainer = XGBoostClassifier("label", num_boost_round=3, max_depth=2)
    fitted = Pipeline(Imputer("x"), StandardScaler("x"), StringIndexer("c"), trainer).fit(dataset)
    return fitted.with_evaluators(BinaryClassificationEvaluator(metrics=("areaUnderROC", "logLoss")))


@pytest.fixture(scope="session")
def _template(model, tmp_path_factory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("saved") / "model"
    return path, model.save(path)


@pytest.fixture
def saved(_template, tmp_path) -> Path:
    """A copy of the saved model, to be damaged."""
    return Path(shutil.copytree(_template[0], tmp_path / "model"))


@pytest.fixture
def printed(_template) -> str:
    """What saving printed."""
    return _template[1]


@pytest.fixture
def reseal() -> Callable[..., None]:
    """Give the manifest the sizes and hashes of the files as they are now, as an attacker would."""

    def seal(folder: Path, **changes: object) -> None:
        document = json.loads((folder / MANIFEST_NAME).read_text())
        for entry in document["files"]:
            data = (folder / entry["path"]).read_bytes()
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        (folder / MANIFEST_NAME).write_text(json.dumps(document | changes))

    return seal


@pytest.fixture
def replaced(saved, reseal) -> Callable[..., AbstractContextManager[None]]:
    """Have a file of the model hold other bytes while inside, with a manifest that fits, unless ``sealed=False``."""

    @contextmanager
    def replaced(path: str, data: bytes | None, *, sealed: bool = True) -> Iterator[None]:
        names = {path, MANIFEST_NAME}
        sound = {name: (saved / name).read_bytes() for name in names if (saved / name).exists()}
        (saved / path).unlink() if data is None else (saved / path).write_bytes(data)
        if sealed and path != MANIFEST_NAME:
            reseal(saved)
        try:
            yield
        finally:
            for name in names - sound.keys():
                (saved / name).unlink()
            for name, content in sound.items():
                (saved / name).write_bytes(content)

    return replaced


@pytest.fixture
def relist() -> Callable[..., None]:
    """Change one file's entry in the manifest."""

    def change(folder: Path, name: str, **fields: object) -> None:
        document = json.loads((folder / MANIFEST_NAME).read_text())
        next(entry for entry in document["files"] if entry["path"] == name).update(fields)
        (folder / MANIFEST_NAME).write_text(json.dumps(document))

    return change
