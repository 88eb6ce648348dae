"""VarianceInflationSelector against the inverse of NumPy's correlations, taken anew after each column that goes."""

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError

RNG = np.random.default_rng(7)
X = 1e4 + RNG.normal(size=(300, 4)) @ RNG.normal(size=(4, 9)) + RNG.normal(size=(300, 9)) * np.geomspace(0.05, 2, 9)
NAMES = tuple(f"x{place}" for place in range(9))
TABLE = pa.table(dict(zip(NAMES, X.T, strict=True)))


def one_at_a_time(x: np.ndarray, threshold: float) -> tuple[dict[int, float], dict[int, float]]:
    stay, gone = list(range(x.shape[1])), {}
    while True:
        factors = np.atleast_1d(np.diag(np.linalg.inv(np.atleast_2d(np.corrcoef(x[:, stay].T)))))
        if factors.max() <= threshold:
            return gone, dict(zip(stay, factors, strict=True))
        gone[stay[factors.argmax()]] = factors.max()
        stay.pop(int(factors.argmax()))


def test_what_is_left_out_in_which_order_is_numpys(learn, subtests):
    for threshold in [1.5, 5.0, 20.0, 1e6]:
        with subtests.test(threshold=threshold):
            _, fitted = learn(
                st.VarianceInflationSelector(NAMES, threshold=threshold), TABLE.slice(0, 77), TABLE.slice(77)
            )
            gone, stay = one_at_a_time(X, threshold)
            assert list(fitted["left_out"]) == [NAMES[place] for place in gone]
            np.testing.assert_allclose(list(fitted["left_out"].values()), list(gone.values()), rtol=1e-7)
            assert list(fitted["factors"]) == [NAMES[place] for place in stay]
            np.testing.assert_allclose(list(fitted["factors"].values()), list(stay.values()), rtol=1e-7)


def test_of_two_that_explain_each_other_the_last_goes(learn):
    a, b = X[:, 0], X[:, 5]
    table = pa.table({"a": a, "twice": 2 * a, "b": b, "same": np.ones(300)})
    _, fitted = learn(st.VarianceInflationSelector(("twice", "a", "b", "same"), threshold=1e6), table)
    assert fitted["left_out"] == {"a": None}
    assert fitted["factors"]["same"] is None
    assert set(fitted["factors"]) == {"twice", "b", "same"}


def test_of_two_that_nearly_explain_each_other_the_last_goes(learn, rng):
    noisy = X[:, 0] + rng.normal(size=300) * 0.01
    _, fitted = learn(st.VarianceInflationSelector(("a", "b")), pa.table({"a": X[:, 0], "b": noisy}))
    assert list(fitted["left_out"]) == ["b"]


def test_stages_after_it_take_what_is_left(local):
    table = pa.table({"a": X[:, 0], "b": X[:, 0] * 3, "c": X[:, 5], "y": X[:, 1]})
    stages = (st.VarianceInflationSelector(("a", "b", "c")), st.LinearRegression("y"))
    model = ps.Pipeline(*stages).fit(local.from_arrow(table))
    assert model.fitted[1]["features"] == ["a", "c"]
    assert "its variance inflation factor is infinite" in model.stages[0].left_out(model.fitted[0])["b"]


def test_a_threshold_below_one_is_refused():
    with pytest.raises(ConfigError, match=r"threshold of VarianceInflationSelector is 0\.5"):
        st.VarianceInflationSelector("x", threshold=0.5)
