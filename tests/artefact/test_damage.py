"""A model directory that is not as it was saved: what happened to it is said before any parser sees it."""

import json
import os
import random
import shutil
import sys

import pytest

from penstock import PipelineModel, artefact
from penstock.errors import (
    ArtifactError,
    ArtifactIntegrityError,
    ArtifactVersionError,
    MissingInputError,
    PenstockError,
    UntrustedArtifactError,
)
from penstock.io.sinks import MANIFEST_NAME
from tests.outputs.alone import StagedDirectory

FILES = ["pipeline.json", "schema.json", "report.json", "state/0.json", "state/2.0.parquet", "booster/3.1.ubj"]


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_the_list_of_files_to_damage_is_that_of_the_model(saved):
    assert set(FILES) < {str(path.relative_to(saved)) for path in files_of(saved)}


@pytest.mark.thorough
def test_a_flipped_bit_anywhere_is_found_before_parsing(saved, monkeypatch):
    def parser(*_: object, **__: object) -> None:
        raise AssertionError("parsed before it was verified")

    for name in ("read_json", "read_table", "check_blob"):
        monkeypatch.setitem(artefact.load.__globals__, name, parser)
    chance = random.Random(7)
    listed = [path for path in files_of(saved) if path.name != MANIFEST_NAME]
    for _ in range(150):
        path = chance.choice(listed)
        sound = path.read_bytes()
        flipped = bytearray(sound)
        flipped[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(ArtifactIntegrityError, match=r"sha256 .*, expected"):
            PipelineModel.load(saved)
        path.write_bytes(sound)


def test_a_flipped_bit_of_the_manifest_is_found_by_its_digest(saved, printed):
    path = saved / MANIFEST_NAME
    sound = path.read_bytes()
    for place in random.Random(8).sample(range(len(sound)), 60):
        flipped = bytearray(sound)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(ArtifactIntegrityError, match=f"expected {printed}"):
            PipelineModel.load(saved, expect=printed)


@pytest.mark.thorough
def test_a_flipped_bit_of_the_manifest_is_an_error_or_means_nothing(saved, model):
    path = saved / MANIFEST_NAME
    sound = path.read_bytes()
    outcomes = set()
    for place in random.Random(9).sample(range(len(sound)), 150):
        flipped = bytearray(sound)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        try:
            outcomes.add(PipelineModel.load(saved) == model)
        except ArtifactError as error:
            outcomes.add(type(error))
    assert False not in outcomes
    assert ArtifactIntegrityError in outcomes


def test_a_missing_file_is_named(saved, replaced, subtests):
    for name in FILES:
        refused = pytest.raises(ArtifactIntegrityError, match=f"lacks {name}")
        with subtests.test(name), replaced(name, None, sealed=False), refused:
            PipelineModel.load(saved)


def test_an_added_file_is_named(saved, replaced):
    (saved / "notes").mkdir()
    for name in ("extra.json", "state/extra.parquet", "notes/read.me"):
        refused = pytest.raises(ArtifactIntegrityError, match=f"not saved with it: {name}")
        with replaced(name, b"{}", sealed=False), refused:
            PipelineModel.load(saved)


def test_a_cut_or_longer_file_is_named(saved, replaced, subtests):
    for name in FILES:
        sound = (saved / name).read_bytes()
        for data in (sound[:-1], sound + b"\0", b""):
            with subtests.test(name=name, length=len(data)), replaced(name, data, sealed=False):
                with pytest.raises(ArtifactIntegrityError, match=name) as caught:
                    PipelineModel.load(saved)
                assert caught.value.path == str(saved / name)


def test_files_swapped_between_two_models_are_found(saved, model, tmp_path):
    model.save(tmp_path / "other")
    (saved / MANIFEST_NAME).write_bytes((tmp_path / "other" / MANIFEST_NAME).read_bytes())
    assert PipelineModel.load(saved) == model  # the same files under both manifests
    (saved / "state/0.json").write_bytes((saved / "state/1.json").read_bytes())
    with pytest.raises(ArtifactIntegrityError, match=r"state/0\.json"):
        PipelineModel.load(saved)


def test_a_directory_without_a_manifest_is_no_model(tmp_path):
    with pytest.raises(ArtifactIntegrityError, match=f"no {MANIFEST_NAME}"):
        PipelineModel.load(tmp_path)


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(MissingInputError, match="nowhere does not exist"):
        PipelineModel.load(tmp_path / "nowhere")


def test_a_dataset_is_no_model(tmp_path):
    with StagedDirectory(tmp_path / "data", run_id="r") as staged:
        staged.commit([])
    with pytest.raises(ArtifactError, match="penstock/dataset, expected a penstock/model"):
        PipelineModel.load(tmp_path / "data")


def test_a_newer_format_names_all_versions(saved, reseal):
    reseal(saved, format_version=2)
    with pytest.raises(ArtifactVersionError, match=r"format version 2, this library \(.+\) reads 1"):
        PipelineModel.load(saved)


def test_an_unknown_feature_of_the_format_is_refused(saved, reseal, subtests):
    for features in (["json", "torch"], [], None, "json", [1]):
        with subtests.test(features=features):
            reseal(saved, features=features)
            with pytest.raises(
                ArtifactVersionError,
                match=r"this library reads drift-profile, json, kept-statistics, onnx, parquet, .*, xgboost-ubj",
            ):
                PipelineModel.load(saved)


def test_a_stage_by_a_module_path_is_refused_and_not_imported(saved, reseal):
    document = json.loads((saved / "pipeline.json").read_text())
    document["stages"][0]["stage"] = "antigravity.Imputer"
    (saved / "pipeline.json").write_text(json.dumps(document))
    reseal(saved)
    with pytest.raises(PenstockError, match=r"'antigravity\.Imputer' is not known.*Known are: .*Imputer"):
        PipelineModel.load(saved)
    assert "antigravity" not in sys.modules


def test_a_name_that_no_model_has_is_refused(saved, relist, subtests):
    name = "report.json"
    for path in ("run.sh", "state/0.pkl", "state/0.0.json", "a/b/c.json", "State/0.json", ".x.json"):
        with subtests.test(path=path):
            relist(saved, name, path=path)
            name = path
            with pytest.raises(UntrustedArtifactError, match="no model has that"):
                PipelineModel.load(saved)


def test_a_kind_that_is_not_that_of_the_name_is_refused(saved, relist):
    relist(saved, "state/0.json", kind="parquet")
    with pytest.raises(UntrustedArtifactError, match=r"'state/0\.json' as parquet"):
        PipelineModel.load(saved)


@pytest.mark.parametrize("what", ["symbolic link", "hard link", "pipe", "directory"])
def test_what_is_no_plain_file_is_refused(saved, what, tmp_path):
    path, elsewhere = saved / "state" / "0.json", tmp_path / "elsewhere.json"
    path.rename(elsewhere)
    match what:
        case "symbolic link":
            path.symlink_to(elsewhere)
        case "hard link":
            path.hardlink_to(elsewhere)
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
    with pytest.raises(UntrustedArtifactError, match=f"state/0.json is a {what}"):
        PipelineModel.load(saved)


def test_a_linked_folder_inside_is_refused(saved, tmp_path):
    shutil.move(saved / "state", tmp_path / "elsewhere")
    (saved / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UntrustedArtifactError, match="state is a symbolic link"):
        PipelineModel.load(saved)


def test_a_linked_model_is_followed(saved, tmp_path):
    (tmp_path / "current").symlink_to(saved)
    assert PipelineModel.load(tmp_path / "current").stages


def test_a_device_as_a_model_is_refused():
    with pytest.raises(UntrustedArtifactError, match="a saved model is a directory"):
        PipelineModel.load("/dev/null")


def test_a_model_that_has_not_learned_what_its_manifest_states_is_refused(saved, reseal):
    reseal(saved, digest=f"sha256:{'0' * 64}")
    with pytest.raises(ArtifactIntegrityError, match="the model that was read has the digest sha256:"):
        PipelineModel.load(saved)
