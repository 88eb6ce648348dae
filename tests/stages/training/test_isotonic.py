"""Isotonic regression against scikit-learn: ties, weights, falling functions, cells, and what it refuses."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.isotonic import IsotonicRegression

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, ExecutionError
from penstock.pipeline import Pipeline
from penstock.statistics.labels_by_value import LabelsByValue

ROWS = 400


def table(ties: bool = True) -> pa.Table:
    """Return a feature with many ties, or none, a noisy label that rises with it, and weights of which some are 0."""
    rng = np.random.default_rng(11)
    x = np.round(rng.normal(size=ROWS), 1 if ties else 12)
    y = np.round(np.tanh(x) + rng.normal(size=ROWS) / 2, 6)
    return pa.table({"x": x, "y": y, "w": rng.integers(0, 4, ROWS) / 2})


def dataset(local: Engine, rows: pa.Table) -> Dataset:
    """Return rows in four fragments."""
    return local.from_arrow(rows, fragment_bytes=rows.nbytes // 4)


AT = np.concatenate([np.linspace(-4.0, 4.0, 101), [0.1, -0.2]])


@pytest.mark.parametrize("increasing", [True, False])
def test_predictions_are_those_of_scikit_learn(local: Engine, increasing: bool, subtests: Any) -> None:
    for ties, weight in itertools.product([True, False], ["w", None]):
        rows = table(ties)
        x, y, w = (rows[name].to_numpy() for name in ("x", "y", "w"))
        stage = st.IsotonicRegression("y", features="x", weight=weight, isotonic=increasing)
        model = Pipeline(stage).fit(dataset(local, rows))
        theirs = IsotonicRegression(increasing=increasing, out_of_bounds="clip").fit(x, y, w if weight else None)
        function = model.fitted[0]["function"]
        with subtests.test(ties=ties, weight=weight):
            np.testing.assert_allclose(function["boundary"].to_numpy(), theirs.X_thresholds_)
            np.testing.assert_allclose(function["prediction"].to_numpy(), theirs.y_thresholds_, rtol=1e-12)
            made = model.transform(local.from_arrow(pa.table({"x": AT}))).to_arrow()["prediction"].to_numpy()
            np.testing.assert_allclose(made, theirs.predict(AT), rtol=1e-12, atol=1e-15)


def test_a_prediction_never_leaves_the_labels_by_rounding(local: Engine) -> None:
    rng = np.random.default_rng(5)
    x = np.sort(rng.normal(size=300))
    model = Pipeline(st.IsotonicRegression("y")).fit(local.from_arrow(pa.table({"x": x, "y": rng.random(300) < x})))
    at = np.sort(np.concatenate([rng.uniform(-4, 4, 20_000), np.nextafter(x, -9)]))
    made = model.transform(local.from_arrow(pa.table({"x": at}))).to_arrow()["prediction"].to_numpy()
    assert (made.min(), made.max()) == (0.0, 1.0)
    assert np.diff(made).min() > -1e-15


def test_cells_bound_what_is_kept_and_hardly_change_the_function(local: Engine) -> None:
    rows = table(ties=False)
    exact, binned = (
        Pipeline(st.IsotonicRegression("y", features="x", num_bins=bins)).fit(dataset(local, rows)) for bins in (0, 256)
    )
    statistic = LabelsByValue(("x", "y"), num_bins=256)
    (state,), _ = dataset(local, rows).gather([statistic])
    assert len(statistic.finish(state).values) <= 256
    apart = [abs(exact.predict({"x": x})["prediction"] - binned.predict({"x": x})["prediction"]) for x in AT]
    assert 0 < max(apart) < 0.2


def test_more_distinct_values_than_fit_are_refused_with_what_helps() -> None:
    from penstock import frames

    frame = frames.from_arrow(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}))
    with pytest.raises(ExecutionError, match=r"'x' has 3 or more distinct.*at most limit_bytes=40") as caught:
        LabelsByValue(("x", "y"), limit_bytes=40).summarise(frame)
    assert "num_bins" in (caught.value.hint or "")


def test_several_features_are_refused(local: Engine) -> None:
    with pytest.raises(ConfigError, match="has 2 features, expected one: x, w"):
        Pipeline(st.IsotonicRegression("y")).fit(local.from_arrow(table()))


def test_one_cell_is_refused() -> None:
    with pytest.raises(ConfigError, match="num_bins of IsotonicRegression is 1"):
        st.IsotonicRegression("y", num_bins=1)
