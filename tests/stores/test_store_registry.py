"""A registry of models on a disk and in stores: aliases under two writers, and under one that is killed."""

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.artefact.load import load_statistics
from penstock.artefact.registry import ModelRegistry, Promotion
from penstock.artefact.registry.saved_model import SavedModel
from penstock.cli import jobs
from penstock.cli.registry.requests import ListModelsRequest, PromoteRequest, ShowModelRequest
from penstock.cli.requests import ScoreRequest
from penstock.cli.serving import ServeRequest, serve
from penstock.errors import (
    ArtifactError,
    ArtifactIntegrityError,
    CommitConflictError,
    ConfigError,
    InputError,
    MissingInputError,
)
from penstock.pipeline import PipelineModel
from tests.outputs.workers import Worker, worker
from tests.stores.conftest import Place

pytestmark = pytest.mark.xdist_group("s3")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Four models that have learned different things."""
    folder, engine = tmp_path_factory.mktemp("models"), ps.LocalEngine(device="cpu")
    for number in range(4):
        data = engine.from_arrow(pa.table({"x": [1.0, None, 3.0 + number]}))
        ps.Pipeline(st.Imputer("x")).fit(data).save(folder / str(number))
    return [str(folder / str(number)) for number in range(4)]


def registry_at(place: Place) -> ModelRegistry:
    return ModelRegistry(place.at("registry"), place.options)


def digest(model: str) -> str:
    return PipelineModel.load(model).digest


def test_a_registered_model_is_loaded_by_alias_and_by_digest_and_its_copy_by_its_manifest(place, models):
    version = registry_at(place).register(models[0], alias="champion")
    for name in ("champion", version.version, version.version[:15]):
        loaded = PipelineModel.load(f"{place.at('registry')}@{name}", storage_options=place.options)
        assert loaded.digest == version.version == digest(models[0])
    path = registry_at(place).path_of(version)
    assert PipelineModel.load(path, expect=version.manifest, storage_options=place.options).digest == version.version


def test_an_alias_moves_and_its_history_and_the_version_before_stay(place, models):
    registry = registry_at(place)
    first, second = (registry.register(model, alias="champion") for model in models[:2])
    history = [(each.version, each.replaced) for each in registry.read().aliases["champion"]]
    assert history == [(first.version, None), (second.version, first.version)]
    assert registry.find("champion") == second
    assert registry.find(first.version) == first
    before = place.files()
    assert registry.register(models[1], alias="champion") == second  # again, it is the same version
    assert place.files() == before


@pytest.mark.thorough
def test_a_promotion_over_another_champion_than_was_compared_with_is_refused(place, models):
    registry = registry_at(place)
    registry.register(models[0], alias="champion")
    late = SavedModel.read(models[1])
    promotion = Promotion(
        version=late.digest, since_utc="2024-01-05T00:00:00Z", run_id="r1", replaced=digest(models[2])
    )
    with pytest.raises(CommitConflictError, match="stands for"):
        registry.promote(late, "champion", promotion)
    assert registry.find("champion").version == digest(models[0])


def test_a_name_that_is_not_there_is_refused_with_the_nearest(disk, models):
    registry = registry_at(disk)
    registry.register(models[0], alias="champion")
    with pytest.raises(ConfigError, match=r"no 'champoin'. Did you mean 'champion'"):
        PipelineModel.load(f"{disk.at('registry')}@champoin")
    with pytest.raises(MissingInputError, match="no registry"):
        PipelineModel.load(f"{disk.at('nowhere')}@champion")


def test_a_directory_that_is_called_like_an_alias_is_that_directory(disk, models):
    registry_at(disk).register(models[0], alias="champion")
    os.symlink(models[1], disk.at("registry@champion"))
    assert PipelineModel.load(disk.at("registry@champion")).digest == digest(models[1])


def test_a_damaged_registry_is_refused(disk, models):
    registry_at(disk).register(models[0], alias="champion")
    for damaged in (b"", b"[]", b'{"format": "penstock/registry"}', b'{"versions": [{"version": "x"}]}'):
        disk.put("registry/registry.json", damaged)
        with pytest.raises(ArtifactError, match=r"registry\.json"):
            PipelineModel.load(f"{disk.at('registry')}@champion")


@pytest.fixture(scope="module")
def writers() -> Iterator[list[Worker]]:
    with worker("tests.stores.killed_promotions") as one, worker("tests.stores.killed_promotions") as other:
        yield [one, other]


def promotion(place: Place, model: str, alias: str = "champion", failpoint: str | None = None) -> tuple[Any, ...]:
    """Return the options of a writer."""
    return place.at("registry"), dict(place.options), model, alias, failpoint


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["disk", pytest.param("s3", marks=pytest.mark.services)])
def test_two_writers_at_once_lose_nothing_of_each_other(writers, models, kind, request):
    place: Place = request.getfixturevalue(kind)
    for number in range(3):
        for name, writer in zip("ab", writers, strict=True):
            writer.tell(*promotion(place, models[number % 4], f"{name}{number}"))
    assert [writer.answer() for _ in range(3) for writer in writers] == [0] * 6
    document = registry_at(place).read()
    assert set(document.aliases) == {f"{name}{number}" for name in "ab" for number in range(3)}
    assert set(document.versions) == {digest(model) for model in models[:3]}


@pytest.mark.thorough
@pytest.mark.faults
@pytest.mark.parametrize("kind", ["disk", "shelf"])
def test_a_writer_that_is_killed_at_any_step_leaves_an_alias_that_loads(writers, models, kind, request):
    place: Place = request.getfixturevalue(kind)
    seen = set()
    for step in range(1, 80):
        round_at = Place(place.at(str(step)), place.options)
        registry_at(round_at).register(models[0], alias="champion")
        code = writers[0](*promotion(round_at, models[1], failpoint=str(step)))
        found = PipelineModel.load(f"{round_at.at('registry')}@champion", storage_options=place.options).digest
        assert found in (digest(models[0]), digest(models[1]))
        seen.add(found == digest(models[0]))
        if code == 0:
            break
        assert code == -9
        registry_at(round_at).register(models[1], alias="champion")
        assert registry_at(round_at).find("champion").version == digest(models[1])
    assert seen == {True, False}
    assert step > 20


@pytest.mark.thorough
def test_a_model_in_the_folder_of_another_is_refused_on_every_road(disk, models, subtests, monkeypatch):
    monkeypatch.chdir(disk.at(""))
    registry = registry_at(disk)
    version = registry.register(models[0], alias="champion")
    shutil.rmtree(registry.path_of(version))
    shutil.copytree(models[1], registry.path_of(version))
    name = f"{registry.location}@champion"
    pq.write_table(pa.table({"x": [1.0]}), disk.at("rows.parquet"))
    roads: dict[str, Callable[[], object]] = {
        "an alias": lambda: PipelineModel.load(name),
        "a digest": lambda: PipelineModel.load(f"{registry.location}@{version.version}"),
        "its own digest is expected": lambda: PipelineModel.load(name, expect=SavedModel.read(models[1]).manifest),
        "its statistics": lambda: load_statistics(name),
        "a copy to another registry": lambda: ModelRegistry(disk.at("other")).register(name),
        "the same model once more": lambda: registry.register(models[0]),
        "models show": lambda: jobs.show_model(ShowModelRequest(model=name)),
        "score": lambda: jobs.score(ScoreRequest(model=name, data=["rows.parquet"], out=disk.at("out"))),
        "serve": lambda: serve(ServeRequest(model=name, port=0)),
        "promote": lambda: jobs.promote(
            PromoteRequest(challenger=name, champion="new@champion", metric="rmse", data=["rows.parquet"])
        ),
    }
    for road, take in roads.items():
        with subtests.test(road), pytest.raises(ArtifactIntegrityError):
            take()
    shutil.rmtree(registry.path_of(version))
    registry.register(models[0])
    assert PipelineModel.load(name).digest == version.version


@pytest.mark.parametrize("wrong", ["x", 5, None, [5], {"a": 5}])
def test_a_registry_with_another_value_in_any_of_its_fields_is_refused_as_such(disk, models, wrong, subtests):
    registry_at(disk).register(models[0], alias="champion")
    sound = json.loads(Path(disk.at("registry/registry.json")).read_text())
    fields = [(record, name) for record in ("versions", "aliases") for name in _record(sound, record)]
    for record, name in fields:
        document = copy.deepcopy(sound)
        _record(document, record)[name] = wrong
        disk.put("registry/registry.json", json.dumps(document).encode())
        with (
            subtests.test(f"{record} {name}"),
            suppress(ArtifactError),
        ):  # or it may be so: no metric, a text for another
            read = registry_at(disk).read()
            assert read.encode()
            assert jobs.list_models(ListModelsRequest(registry=disk.at("registry"))).models


def _record(document: Any, name: str) -> dict[str, Any]:
    """Return the first record of a version, or of an alias."""
    found: dict[str, Any] = document["versions"][0] if name == "versions" else document["aliases"]["champion"][0]
    return found


def test_a_pipe_in_the_place_of_the_record_is_not_waited_for(disk):
    os.makedirs(disk.at("registry"))
    os.mkfifo(disk.at("registry/registry.json"))
    with pytest.raises(InputError, match="is no plain file"):
        registry_at(disk).read()
