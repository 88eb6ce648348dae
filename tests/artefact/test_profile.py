"""The profile in a saved model: what comes back is what was saved, and what is damaged is refused by its name."""

import json

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ArtifactError, ArtifactVersionError, UntrustedArtifactError

ROWS = {
    "x": [0.1, None, 3.0, float("inf")] * 50,
    "s": ["a", "b", None, "ü"] * 50,
    "d": pa.array([0, 1, 2, None] * 50, pa.date32()),
}
PIPELINE = ps.Pipeline(st.StringIndexer("s"), st.DateParts("d", parts=["year"]), st.Clip("x", upper=5.0))


@pytest.fixture
def data(local):
    return local.from_arrow(pa.table(ROWS))


@pytest.fixture
def folder(data, tmp_path):
    PIPELINE.fit(data).with_profile(data, slices=["s", ("s", "d")]).save(tmp_path / "model")
    return tmp_path / "model"


def changed(folder, change):
    path = folder / "profile.json"
    state = json.loads(path.read_text())
    change(state)
    path.write_text(json.dumps(state))


@pytest.mark.thorough
def test_a_profile_comes_back_as_it_was(folder, data):
    loaded, here = ps.PipelineModel.load(folder), PIPELINE.fit(data).with_profile(data, slices=["s", ("s", "d")])
    assert loaded.profile.to_state() == here.profile.to_state()
    assert loaded.digest == here.digest
    assert loaded.drift(data).to_dict() == here.drift(data).to_dict()


def test_a_model_without_a_profile_is_saved_as_before(data, tmp_path):
    PIPELINE.fit(data).save(tmp_path / "model")
    assert not (tmp_path / "model" / "profile.json").exists()
    assert ps.PipelineModel.load(tmp_path / "model").profile is None


@pytest.mark.thorough
def test_a_profile_of_another_version_is_refused(folder, reseal):
    changed(folder, lambda state: state.update(version=2))
    reseal(folder)
    with pytest.raises(
        ArtifactVersionError, match="the profile of the model is of version 2, and this library reads version 1"
    ):
        ps.PipelineModel.load(folder)


def test_what_is_no_profile_is_refused(folder, reseal, subtests):
    sound = (folder / "profile.json").read_text()
    for change, told in (
        (lambda state: state.pop("roles"), "roles"),
        (lambda state: state["roles"]["input"]["counts"]["x"].pop("bins"), "counts have"),
        (lambda state: state["roles"]["input"]["counts"]["x"]["bins"].append(1), "counts of .* cells"),
        (lambda state: state["roles"]["input"]["counts"]["s"].update(rows=-1), "-1 is no count of rows"),
        (lambda state: state["roles"]["input"]["bins"]["edges"]["x"].reverse(), "not in order"),
        (lambda state: state["roles"]["input"]["bins"]["values"]["s"].append(7), "7 is neither an edge nor a value"),
    ):
        with subtests.test(told):
            (folder / "profile.json").write_text(sound)
            changed(folder, change)
            reseal(folder)
            with pytest.raises(ArtifactError, match=told) as caught:
                ps.PipelineModel.load(folder)
            assert caught.value.path.endswith("profile.json")


def test_a_profile_names_no_files(folder, reseal):
    changed(folder, lambda state: state.update(rows={"$table": "state/0.0.parquet"}))
    reseal(folder)
    with pytest.raises(UntrustedArtifactError, match="a profile refers to the file"):
        ps.PipelineModel.load(folder)
