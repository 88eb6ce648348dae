"""What networks cannot be trained on, or with, is refused: in words that say where, and what to do."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.core.extras import how_to_install
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import (
    ConfigError,
    DataValueError,
    EmptyInputError,
    MissingExtraError,
    SchemaError,
    UnsupportedStepError,
)
from penstock.pipeline import Pipeline
from penstock.stages.modules import _FACTORIES, register_module

ROWS = 40


def data(engine: Engine, **columns: Any) -> Dataset:
    draw = np.random.default_rng(2)
    given = {"x": draw.normal(size=ROWS), "code": np.arange(ROWS) % 3, "y": draw.normal(size=ROWS), "w": np.ones(ROWS)}
    given["label"] = np.arange(ROWS) % 2
    return engine.from_arrow(pa.table({**given, **columns}), fragment_bytes=400)


def holed(value: Any, usual: Any = 1.0) -> list[Any]:
    """Return values of which the one in row 30, not in the first fragment, is another."""
    return [usual] * 30 + [value] + [usual] * (ROWS - 31)


def regressor(**options: Any) -> st.TorchRegressor:
    return st.TorchRegressor("y", **{"features": "x", "epochs": 2, "module_options": {"hidden": [2]}, **options})


WRONG = [
    ({"loss": "cross_entropy"}, "loss of TorchRegressor is 'cross_entropy', expected one of mse, l1"),
    ({"loss_options": {"delta": 1.0}}, "loss 'mse' has no option 'delta'"),
    ({"loss": "huber", "loss_options": {"detla": 1.0}}, "Did you mean 'delta'"),
    ({"optimizer": "adma"}, "Did you mean 'adam'"),
    ({"momentum": 0.9}, "momentum of TorchRegressor is 0.9, but optimizer is 'adam'"),
    ({"learning_rate": 0}, "learning_rate of TorchRegressor is 0, expected a number > 0"),
    ({"batch_size": 2.5}, "batch_size of TorchRegressor is 2.5, expected an integer >= 1"),
    ({"precision": "int8"}, "precision of TorchRegressor is 'int8'"),
    ({"schedule": "linear"}, "schedule of TorchRegressor is 'linear'"),
    ({"module_options": {"hidden": {1, 2}}}, "expected JSON values"),
]


def test_parameters_are_checked_when_they_are_given(subtests):
    for options, problem in WRONG:
        with subtests.test(**options), pytest.raises(ConfigError, match=problem):
            regressor(**options)


def test_an_unregistered_module_is_refused_before_reading(local):
    with pytest.raises(UnsupportedStepError, match=r"module 'tabluar' is not registered\. Did you mean 'tabular'"):
        Pipeline(regressor(module="tabluar")).plan(data(local))


def test_categories_are_integers(local):
    with pytest.raises(SchemaError, match="category 'w' is double, expected integers"):
        Pipeline(regressor(module="tabular", categories=["w"])).plan(data(local))


def test_a_column_is_not_both_feature_and_category(local):
    with pytest.raises(ConfigError, match="names column 'code' twice"):
        Pipeline(regressor(module="tabular", features=["x", "code"], categories=["code"])).plan(data(local))


def test_without_features_all_other_numbers_are(local):
    bound = st.TorchRegressor("y", module="tabular", categories="code", weight="w").bind(data(local).schema)
    assert (bound.feature_names, bound.category_names) == (("x", "label"), ("code",))


def test_a_code_that_is_none_is_told_with_its_row(local):
    stage = regressor(module="tabular", categories="code", weight="w")
    for value, problem in ((None, "null"), (-1, "negative")):
        with pytest.raises(DataValueError, match=f"1 values that are {problem}") as caught:
            Pipeline(stage).fit(data(local, code=holed(value, 1)))
        assert (caught.value.column, caught.value.row) == ("code", 30)


@pytest.mark.thorough
def test_a_row_with_a_null_or_without_a_code_has_nulls(local):
    stage = st.TorchClassifier("label", features="x", module="tabular", categories="code", epochs=1)
    model = Pipeline(stage).fit(data(local))
    for row in ({"x": None, "code": 0}, {"x": 0.5, "code": None}):
        assert set(model.predict(row).values()) == {None}
    assert None not in model.predict({"x": 0.5, "code": 0}).values()


def test_codes_that_would_need_a_huge_table_are_refused(local):
    stage = regressor(module="tabular", categories="code")
    with pytest.raises(DataValueError, match="category 'code' has codes up to 1000000000000") as caught:
        Pipeline(stage).fit(data(local, code=holed(10**12, 1)))
    assert "StringIndexer" in str(caught.value)


def test_a_label_that_is_no_class_is_refused_in_validation_data(local):
    stage = st.TorchClassifier("label", features="x", epochs=1)
    with pytest.raises(DataValueError, match="not a class, expected one of the classes 0, 1") as caught:
        Pipeline(stage).fit(data(local), validation=data(local, label=holed(7, 1)))
    assert (caught.value.column, caught.value.row) == ("label", 30)


def test_early_stopping_needs_validation_data(local):
    with pytest.raises(ConfigError, match="early_stopping_rounds is 2, but there is no validation data"):
        Pipeline(regressor(early_stopping_rounds=2)).fit(data(local))
    with pytest.raises(EmptyInputError, match="the validation data has no rows"):
        Pipeline(regressor()).fit(data(local), validation=local.from_arrow(data(local).to_arrow().slice(0, 0)))


@pytest.mark.thorough
def test_a_loss_that_is_not_finite_is_told_with_its_place(local):
    stage = regressor(optimizer="sgd", learning_rate=1e20, batch_size=10)
    with pytest.raises(
        DataValueError, match=r"loss of 'y' is (nan|inf) in epoch 1, batch \d of 4, .* rate of 1e\+20"
    ) as caught:
        Pipeline(stage).fit(data(local))
    assert "lower learning_rate, or set clip_norm" in str(caught.value)


def test_weights_that_are_not_finite_are_never_a_model(local):
    stage = regressor(optimizer="sgd", learning_rate=1e38, batch_size=100, epochs=1)
    with pytest.raises(DataValueError, match="in epoch 1, and weights are not finite"):
        Pipeline(stage).fit(data(local, x=np.full(ROWS, 1e3)))


@pytest.mark.usefixtures("registered")
def test_a_module_that_does_not_keep_its_contract_is_refused(local, subtests):
    from torch.nn import Linear

    for factory, problem in (
        (lambda inputs, outputs: Linear(inputs, 7), r"gives \(0, 7\), expected shape \(0, 1\)"),
        (lambda inputs: Linear(inputs, 1), "fails without rows: TypeError: .*unexpected keyword"),
        (lambda inputs, outputs: Linear(inputs + 1, 1), "fails without rows: RuntimeError"),
        (lambda inputs, outputs: Linear(inputs, 1).weight, "fails without rows"),
    ):
        register_module("own")(factory)
        with subtests.test(problem), pytest.raises(ConfigError, match=problem):
            Pipeline(regressor(module="own", module_options={})).fit(data(local))
        _FACTORIES.known.pop("own")


def test_an_option_that_an_architecture_does_not_know_is_refused(local):
    with pytest.raises(ConfigError, match="unexpected keyword argument 'widths'"):
        Pipeline(regressor(module_options={"widths": [2]})).fit(data(local))
    with pytest.raises(ConfigError, match="activation is 'rleu', expected one of relu"):
        Pipeline(regressor(module_options={"activation": "rleu"})).fit(data(local))


def test_features_so_large_that_outputs_overflow_are_refused(local):
    model = Pipeline(regressor(module_options={"hidden": []}, optimizer="sgd", learning_rate=0.5)).fit(
        data(local, y=5 * data(local).to_arrow()["x"].to_numpy())
    )
    with pytest.raises(DataValueError, match=r"1 row\(s\) have features so large .* overflow: x"):
        model.transform(data(local, x=holed(3e38))).to_arrow()


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_a_missing_package_is_told_with_its_extra(local, hide_modules, package):
    hide_modules(package)
    with pytest.raises(MissingExtraError, match=f"{package} is not installed") as caught:
        Pipeline(regressor()).fit(data(local))
    assert caught.value.hint == how_to_install("torch")
