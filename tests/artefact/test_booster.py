"""XGBoost model files: those that XGBoost writes are accepted, those that crash it are not."""

import copy
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xgboost as xgb

from penstock.artefact import save
from penstock.errors import ArtifactError, UnsupportedStepError, UntrustedArtifactError
from penstock.pipeline import PipelineModel
from penstock.stages.base import Blob
from penstock.stages.training.trees.model_file.booster import check_features, read_booster, read_ubjson

ROWS = 200
NAMES = ["a", "b", "c"]
MARKERS = {">i1": b"i", ">u1": b"U", ">i2": b"I", ">i4": b"l", ">i8": b"L", ">f4": b"d", ">f8": b"D"}


def written(value: Any) -> bytes:
    """Encode a document as XGBoost does."""
    if isinstance(value, dict):
        return b"{" + b"".join(sized(key) + written(item) for key, item in value.items()) + b"}"
    if isinstance(value, np.ndarray):
        marker = next(marker for kind, marker in MARKERS.items() if np.dtype(kind) == value.dtype)
        return b"[$" + marker + b"#L" + struct.pack(">q", len(value)) + value.tobytes()
    if isinstance(value, list):
        return b"[#L" + struct.pack(">q", len(value)) + b"".join(map(written, value))
    if isinstance(value, str):
        return b"S" + sized(value)
    return b"L" + struct.pack(">q", value)


def sized(text: str) -> bytes:
    return b"L" + struct.pack(">q", len(text.encode())) + text.encode()


@pytest.fixture(scope="module")
def trained() -> Callable[..., bytes]:
    generator = np.random.default_rng(3)
    numbers = generator.normal(size=(ROWS, 3))
    codes = np.column_stack([numbers[:, :2], generator.integers(0, 12, ROWS)])
    target = generator.normal(size=ROWS)

    def train(rounds: int = 3, *, classes: int = 0, categorical: bool = False, **parameters: Any) -> bytes:
        label = generator.integers(0, classes, ROWS) if classes else target
        kinds = ["float", "float", "c"] if categorical else None
        matrix = xgb.DMatrix(codes if categorical else numbers, label, feature_names=NAMES, feature_types=kinds,
                             enable_categorical=categorical, nthread=1)  # fmt: skip
        with xgb.config_context(verbosity=0):  # since 3.4 it warns of dart and gblinear
            return bytes(xgb.train({"nthread": 1, **parameters}, matrix, rounds).save_raw("ubj"))

    return train


def test_what_xgboost_writes_is_accepted(trained, subtests):
    for options in (
        {"classes": 2, "objective": "binary:logistic"},
        {"classes": 3, "objective": "multi:softprob", "num_class": 3},
        {"categorical": True, "max_cat_to_onehot": 2},
        {"booster": "dart", "rate_drop": 0.5},
        {"rate_drop": 0.5},
        {"tree_method": "exact", "gamma": 4.0},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]},
        {"grow_policy": "lossguide", "max_leaves": 30, "max_depth": 0},
        {"max_depth": 1, "rounds": 0},
    ):
        with subtests.test(options=options):
            assert read_booster(trained(**options), "b.ubj", trusted=False) == NAMES


def test_numbers_are_read_as_xgboost_writes_them_in_json(trained):
    booster = xgb.Booster(model_file=bytearray(trained()))
    expected = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][1]
    found = read_ubjson(bytes(booster.save_raw("ubj")))["learner"]["gradient_booster"]["model"]["trees"][1]
    assert found.keys() == expected.keys()
    assert found["tree_param"] == expected["tree_param"]
    for name in ("left_children", "split_indices", "parents"):
        assert found[name].tolist() == expected[name]
    assert found["split_conditions"] == pytest.approx(np.array(expected["split_conditions"], "f4"), rel=1e-6)


def test_a_booster_that_is_not_of_trees_is_refused(trained):
    with pytest.raises(UntrustedArtifactError, match="'gblinear' is neither gbtree nor dart"):
        read_booster(trained(booster="gblinear"), "b.ubj", trusted=False)


def test_trees_with_several_outputs_are_refused():
    matrix = xgb.DMatrix(np.eye(4), np.eye(4), nthread=1, feature_names=list("abcd"))
    booster = xgb.train({"multi_strategy": "multi_output_tree", "nthread": 1}, matrix, 1)
    with pytest.raises(UntrustedArtifactError, match=r"b\.ubj is not"):
        read_booster(bytes(booster.save_raw("ubj")), "b.ubj", trusted=False)


def in_tree(name: str, place: int, value: int) -> Callable[[dict], None]:
    def change(learner: dict) -> None:
        tree = learner["gradient_booster"]["model"]["trees"][0]
        tree[name] = tree[name].copy()
        tree[name][place] = value

    return change


def set_at(value: Any, *keys: Any) -> Callable[[dict], None]:
    def change(learner: dict) -> None:
        for key in keys[:-1]:
            learner = learner[key]
        learner[keys[-1]] = value

    return change


def shorter(name: str) -> Callable[[dict], None]:
    def change(learner: dict) -> None:
        tree = learner["gradient_booster"]["model"]["trees"][0]
        tree[name] = tree[name][:-1]

    return change


MODEL = ("gradient_booster", "model")
TREE = (*MODEL, "trees", 0)


def test_a_booster_that_would_crash_is_refused(trained, subtests):
    sound = read_ubjson(trained(max_depth=2))
    assert read_booster(written(sound), "b.ubj", trusted=False) == NAMES
    for change, fault in (
        (in_tree("left_children", 0, 99_999), "a child does not exist"),
        (in_tree("left_children", 0, -7), "a child does not exist"),
        (in_tree("right_children", 0, 0), "a child does not exist"),
        (in_tree("left_children", 0, -1), "a node has one child"),
        (in_tree("left_children", 0, 2), "one child twice"),
        (in_tree("left_children", 1, 5), "not the child of its parent"),
        (in_tree("parents", 3, 99_999), "a parent does not exist"),
        (in_tree("parents", 0, 1), "the root has a parent"),
        (in_tree("split_indices", 0, 3), "a feature that does not exist"),
        (in_tree("split_indices", 0, -1), "a feature that does not exist"),
        (in_tree("split_type", 0, 7), "neither 0 nor 1"),
        (in_tree("default_left", 0, 2), "neither 0 nor 1"),
        *((shorter(name), f"{name} has") for name in ("left_children", "base_weights", "sum_hessian", "split_type")),
        (set_at(np.zeros(7, ">i8"), *TREE, "parents"), "parents is not an array of >i4"),
        (set_at("9", *TREE, "tree_param", "num_nodes"), "expected 9"),
        (set_at("-1", *TREE, "tree_param", "num_nodes"), "num_nodes is '-1'"),
        (set_at("0", *TREE, "tree_param", "num_nodes"), "no nodes"),
        (set_at("2", *TREE, "tree_param", "num_feature"), "other features than the model"),
        (set_at("2", *TREE, "tree_param", "size_leaf_vector"), "several outputs"),
        (set_at("1", *TREE, "tree_param", "num_deleted"), "num_deleted"),
        (set_at(np.array([1], ">i4"), *TREE, "categories"), "belong to no node"),
        (set_at(1, *TREE, "id"), "not numbered in order"),
        (set_at([0, 5, 0], *MODEL, "tree_info"), "an output that does not exist"),
        (set_at([0, -1, 0], *MODEL, "tree_info"), "an output that does not exist"),
        (set_at([0, 0], *MODEL, "tree_info"), "num_trees is wrong"),
        (set_at([0, 1, 2, 9], *MODEL, "iteration_indptr"), "does not lead to the last tree"),
        (set_at([0, 2, 1, 3], *MODEL, "iteration_indptr"), "does not lead to the last tree"),
        (set_at([1, 3], *MODEL, "iteration_indptr"), "does not begin with 0"),
        (set_at("4", *MODEL, "gbtree_model_param", "num_trees"), "num_trees is wrong"),
        (set_at("0", *MODEL, "gbtree_model_param", "num_parallel_tree"), "num_parallel_tree is 0"),
        (set_at([{"a": 1}], *MODEL, "cats", "enc"), "recodes categories"),
        (set_at([1, 1], *MODEL, "weight_drop"), "weight_drop is not one number a tree"),
        (set_at("4", "learner_model_param", "num_feature"), "3 feature names for 4 features"),
        (set_at("999999999", "learner_model_param", "num_class"), "999999999 outputs"),
        (set_at("[nan]", "learner_model_param", "base_score"), "base_score"),
        (set_at("[1,2]", "learner_model_param", "base_score"), "base_score"),
        (set_at(["int"], "feature_types"), "1 feature types"),
        (set_at(["int", "x", "c"], "feature_types"), "a feature type is not known"),
        (set_at({"a": "b"}, "extra"), "adds extra"),
        (set_at({"a": 1}, "attributes"), "an attribute is not text"),
        (set_at({"name": "multi:softmax", "p": {"num_class": "0"}}, "objective"), "0 classes"),
    ):
        with subtests.test(fault):
            document = copy.deepcopy(sound)
            change(document["learner"])
            with pytest.raises(
                UntrustedArtifactError, match=f"b.ubj is not an XGBoost model that can be checked: .*{fault}"
            ):
                read_booster(written(document), "b.ubj", trusted=False)


def test_categories_out_of_range_are_refused(trained, subtests):
    sound = read_ubjson(trained(categorical=True, max_cat_to_onehot=2))
    for name, place, value, fault in (
        ("categories", 0, -1, "a category is out of range"),
        ("categories", 0, 2**30, "a category is out of range"),
        ("categories_nodes", 0, 9999, "out of order"),
        ("categories_segments", 0, 1, "one after the other"),
        ("categories_sizes", 0, 0, "of no, or too many, categories"),
        ("categories_sizes", 0, 2**62, "of no, or too many, categories"),
    ):
        with subtests.test(name=name, place=place, value=value, fault=fault):
            document = copy.deepcopy(sound)
            in_tree(name, place, value)(document["learner"])
            with pytest.raises(UntrustedArtifactError, match=fault):
                read_booster(written(document), "b.ubj", trusted=False)


def test_a_cycle_beside_the_root_is_refused(trained):
    document = copy.deepcopy(read_ubjson(trained(max_depth=2)))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    changes = {"left_children": [-1, 3, 5, -1, -1, 1, -1], "right_children": [-1, 4, 6, -1, -1, 2, -1],
               "parents": [2**31 - 1, 5, 5, 1, 1, 2, 2]}  # fmt: skip
    tree |= {name: np.array(values, ">i4") for name, values in changes.items()}
    with pytest.raises(UntrustedArtifactError, match="cannot be reached from the root"):
        read_booster(written(document), "b.ubj", trusted=False)


def test_a_trusted_booster_is_not_checked(trained):
    document = copy.deepcopy(read_ubjson(trained()))
    in_tree("left_children", 0, 99_999)(document["learner"])
    assert read_booster(written(document), "b.ubj", trusted=True) == NAMES


def test_bytes_that_are_no_document_are_refused(subtests):
    for data, fault in (
        (b"", "ends at byte 0"),
        (b"{L", "in the middle"),
        (b"{}x", "1 bytes follow"),
        (b"{L" + struct.pack(">q", -1), "length -1"),
        (b"{L" + struct.pack(">q", 2**60), "leaves the document"),
        (b"[$d#L" + struct.pack(">q", 2), "leaves the document"),
        (b"[i\x01]", "without a count"),
        (b"[#L" + struct.pack(">q", 1) + b"H", "unexpected type b'H'"),
        ((b"[#L" + struct.pack(">q", 1)) * 40 + b"i\x01", "deeper"),
        (b"{" + (sized("a") + b"i\x01") * 2 + b"}", "twice"),
        (b"{" + b"L" + struct.pack(">q", 1) + b"\xff" + b"i\x01}", "utf-8"),
        (b"{i\x01ai\x01}", "expected b'L'"),
    ):
        with subtests.test(fault), pytest.raises(ValueError, match=fault):
            read_ubjson(data)


def test_features_that_differ_name_the_first_difference():
    for names, columns, difference in (
        (["a", "b"], ("b", "a"), "position 0: 'a' in the file, 'b' in the pipeline"),
        (["a"], ("a", "b"), "1 features, and Boost passes 2; .* position 1: none in the file, 'b' in"),
        (["a", "b", "c"], ("a", "b"), "position 2: 'c' in the file, none in"),
    ):
        with pytest.raises(ArtifactError, match=difference):
            check_features(names, columns, "b.ubj", "Boost")


def test_a_booster_of_other_features_is_refused_at_loading(saved, reseal, trained):
    (saved / "booster/3.1.ubj").write_bytes(trained())
    reseal(saved)
    with pytest.raises(ArtifactError, match="3 features, and XGBoostClassifier passes 2") as caught:
        PipelineModel.load(saved)
    assert caught.value.path == str(saved / "booster/3.1.ubj")


def test_a_booster_of_other_features_is_refused_at_saving(model, trained, tmp_path):
    fitted = (*model.fitted[:3], {**model.fitted[3], "booster": Blob("xgboost-ubj", trained())})
    with pytest.raises(ArtifactError, match="3 features, and XGBoostClassifier passes 2"):
        save(PipelineModel(model.stages, fitted, model.schema), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_booster_that_cannot_be_checked_is_refused_at_saving(model, trained, tmp_path):
    fitted = (*model.fitted[:3], {"booster": Blob("xgboost-ubj", trained(booster="gblinear"))})
    with pytest.raises(UnsupportedStepError, match="gblinear"):
        save(PipelineModel(model.stages, fitted, model.schema), tmp_path / "m")
