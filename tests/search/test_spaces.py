"""Spaces: the settings they have, in order, and what is refused before anything runs."""

import functools
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC

import penstock as ps
from penstock import stages as st
from penstock.core.selectors import numeric
from penstock.errors import ConfigError
from penstock.search.descriptions import describe, label
from penstock.search.distributions import as_drawn

PIPELINE = ps.Pipeline(
    ("clip", st.Clip("x", lower=0)), ("scale", st.StandardScaler("x")), ("model", st.LogisticRegression("y"))
)


def test_a_grid_has_every_combination_in_the_order_of_nested_loops_as_scikit_learn_has_them():
    space = ps.grid({"b": [1, 2], "a": ["x", "y"], "c": [None, True, 0.5]})
    assert list(space) == [{"b": b, "a": a, "c": c} for b in (1, 2) for a in "xy" for c in (None, True, 0.5)]
    spaces = [{"a": [1, 2], "b": [3, 4]}, {"a": [5], "c": [6, 7]}]
    assert list(ps.grid(spaces)) == list(ParameterGrid(spaces))


def test_equal_combinations_and_values_of_a_type_are_tried_once_as_values_of_python():
    space = ps.grid([{"a": [1, 2]}, {"a": [2, 3]}])
    assert [params["a"] for params in space] == [1, 2, 3]
    assert repr(space) == "grid of 3 trials"
    assert [params["a"] for params in ps.grid({"a": [1, True, 1.0, "1", 1]})] == [1, True, 1.0, "1"]
    (first, *_) = ps.grid({"a": np.linspace(0, 1, 3), "b": [np.int64(3)]})
    assert [type(value) for value in first.values()] == [float, int]


def test_parameters_of_a_value_or_of_several_are_tried_beside_them_alone():
    forest, linear = st.RandomForestClassifier("y"), st.LogisticRegression("y")
    scaled = ps.when(st.StandardScaler("x"), {"scale.with_mean": [True, False]})
    space = ps.grid({"scale": [None, scaled], "model": [linear, ps.when(forest, {"model.max_depth": [3, 6]})]})
    scales = [{"scale": None}, *({"scale": st.StandardScaler("x"), "scale.with_mean": each} for each in (True, False))]
    models = [{"model": linear}, *({"model": forest, "model.max_depth": each} for each in (3, 6))]
    assert list(space) == [{**scale, **model} for scale, model in itertools.product(scales, models)]
    space.check(PIPELINE)
    space = ps.grid({"model": [ps.when("a", {"depth": [1, 2]}), ps.when("b", {"depth": [2, 3]})]})
    assert [tuple(params.values()) for params in space] == [("a", 1), ("a", 2), ("b", 2), ("b", 3)]


def test_a_parameter_that_would_be_set_twice_is_refused():
    for space in (
        {"depth": [1], "model": [ps.when("a", {"depth": [2]})]},
        {"one": [ps.when("a", {"depth": [1]})], "other": [ps.when("b", {"depth": [2]})]},
        {"model": [ps.when("a", {"model": ["b"]})]},
    ):
        with pytest.raises(ConfigError, match=r"gives '(depth|model)' (twice|again)"):
            ps.grid(space)


def test_a_space_without_combinations_is_refused(subtests):
    for space, message in (
        ({}, "expected a mapping with at least one parameter"),
        ([], "expected a mapping with at least one parameter"),
        ([{"a": [1]}, {}], "expected a mapping with at least one parameter"),
        ({"a": []}, "no values for 'a'"),
        ({"a": 3}, "has 3 for 'a', expected a list"),
        ({"a": "abc"}, "has 'abc' for 'a', expected a list"),
        ({"a": st.Clip("x", lower=0)}, "has a stage for 'a'"),
        ({"a": stats.uniform()}, "has a distribution"),
        ({"a": [ps.when(1, {"b": stats.uniform()})]}, "has a distribution"),
    ):
        with subtests.test(space=space), pytest.raises(ConfigError, match=message):
            ps.grid(space)


def test_an_unknown_parameter_is_refused_with_the_nearest_name_and_a_value_with_its_setting(subtests):
    with pytest.raises(ConfigError, match=r"Did you mean 'reg_param'\?") as caught:
        ps.grid({"model.reg_parm": [0.1]}).check(PIPELINE)
    assert caught.value.stage == "model"
    for space, message in (
        (ps.grid({"model.reg_param": [0.1, -1.0]}), r'reg_param.*-1\.0.*the space has \{"model.reg_param": -1\.0\}'),
        (ps.grid({"clip.lower": [0, 5], "clip.upper": [10, 3]}), '"clip.lower": 5, "clip.upper": 3'),
        (ps.random({"model.reg_param": stats.uniform(-1, 1.5)}, n=1, seed=3), "reg_param"),
        (ps.grid({"scale": [None], "scale.with_mean": [True]}), "ps.when"),
    ):
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            space.check(PIPELINE)


def test_the_end_of_a_range_is_tried_where_no_draw_comes_near():
    space = ps.random({"model.reg_param": stats.uniform(-1e-9, 1)}, n=3)
    assert all(params["model.reg_param"] > 0 for params in space)
    with pytest.raises(ConfigError, match="reg_param"):
        space.check(PIPELINE)


@pytest.mark.thorough
def test_draws_follow_their_distributions():
    space = {"a": stats.loguniform(1e-4, 1), "b": stats.randint(2, 5), "c": ["x", "y", "z"], "d": stats.norm(3, 2)}
    drawn = list(ps.random(space, n=2000, seed=5))
    assert stats.kstest([params["a"] for params in drawn], stats.loguniform(1e-4, 1).cdf).pvalue > 0.001
    assert stats.kstest([params["d"] for params in drawn], stats.norm(3, 2).cdf).pvalue > 0.001
    for name, values in (("b", [2, 3, 4]), ("c", ["x", "y", "z"])):
        counts = [sum(params[name] == value for params in drawn) for value in values]
        assert sum(counts) == 2000
        assert stats.chisquare(counts).pvalue > 0.001
    assert {type(params[name]) for params in drawn for name in ("a", "b")} == {float, int}


@pytest.mark.thorough
def test_draws_from_distributions_of_optuna_follow_them():
    optuna = pytest.importorskip("optuna.distributions")
    space = {
        "a": optuna.FloatDistribution(1e-3, 10, log=True),
        "b": optuna.IntDistribution(1, 9, step=4),
        "c": optuna.FloatDistribution(0, 1, step=0.25),
        "d": optuna.IntDistribution(1, 100, log=True),
        "e": optuna.CategoricalDistribution(["x", None]),
        "f": optuna.FloatDistribution(-2, 3),
    }
    drawn = list(ps.random(space, n=2000, seed=5))
    assert stats.kstest([params["a"] for params in drawn], stats.loguniform(1e-3, 10).cdf).pvalue > 0.001
    assert stats.kstest([params["f"] for params in drawn], stats.uniform(-2, 5).cdf).pvalue > 0.001
    for name, values in (("b", [1, 5, 9]), ("c", [0, 0.25, 0.5, 0.75, 1]), ("e", ["x", None])):
        assert stats.chisquare([sum(params[name] == value for params in drawn) for value in values]).pvalue > 0.001
    depths = [params["d"] for params in drawn]
    assert (min(depths), max(depths)) == (1, 100)
    edges = np.array([0.5, 1.5, 2.5, 5.5, 20.5, 100.5])  # an integer stands for all that are rounded to it
    expected = np.diff(np.log(edges)) / np.log(100.5 / 0.5) * 2000
    assert stats.chisquare(np.histogram(depths, edges)[0], expected).pvalue > 0.001


def test_draws_go_by_their_seed_and_none_is_drawn_twice():
    space = {"a": stats.uniform(), "b": list(range(4))}
    short, long, other = (list(ps.random(space, n=n, seed=seed)) for n, seed in ((5, 1), (9, 1), (5, 2)))
    assert long[:5] == short
    assert other != short
    settings = [tuple(params.values()) for params in ps.random({"a": range(5), "b": range(4)}, n=18)]
    assert len(set(settings)) == 18
    with pytest.warns(UserWarning, match="4 settings, fewer than the 10 to draw"):
        space = ps.random({"a": [1, 2], "b": [ps.when(1, {"c": [1]}), 2]}, n=10)
    assert len(space) == 4


def test_parameters_of_a_value_are_drawn_beside_it_alone():
    space = {"model": ["plain", ps.when("deep", {"depth": stats.randint(1, 9), "rate": [0.1, 0.3]})]}
    with_parameters = {"plain": {"model"}, "deep": {"model", "depth", "rate"}}
    drawn = list(ps.random({**space, "x": stats.uniform()}, n=50))
    assert {params["model"] for params in drawn} == {"plain", "deep"}
    assert all(params.keys() - {"x"} == with_parameters[params["model"]] for params in drawn)


def test_a_number_a_seed_or_a_distribution_that_is_none_is_refused():
    for n in (0, -1, 2.0, True):
        with pytest.raises(ConfigError, match=r"n is .*, expected a positive integer"):
            ps.random({"a": [1]}, n=n)
    for make in (functools.partial(ps.random, n=1), functools.partial(ps.optuna_search, n_trials=1)):
        for seed in (-1, 0.5, None):
            with pytest.raises(ConfigError, match=r"seed is .*, expected an integer, 0 or more"):
                make({"a": [1]}, seed=seed)
    with pytest.raises(ConfigError, match="give a distribution its parameters"):
        ps.random({"a": stats.uniform}, n=1)


class Plain:
    def __init__(self):
        self.rate = 3


class Forgetful(BaseEstimator):
    def __init__(self, rate=0.1, kernel=None):
        self.rate, self.kernel = rate, kernel


def test_a_value_is_described_as_what_makes_it(subtests):
    for value, text in (
        (st.XGBoostClassifier("y", max_depth=4), "XGBoostClassifier(label='y', max_depth=4)"),
        (SVC(C=0.5), "SVC(C=0.5)"),
        (Forgetful(kernel=SVC()), "Forgetful(kernel='SVC()')"),
        ({"a": (1, np.float64(0.5))}, {"a": [1, 0.5]}),
        (np.mean, "numpy.mean"),
        (np.arange(2000), list(range(2000))),
        ({"b", "a"}, ["a", "b"]),
        (functools.partial(np.mean, axis=1), "partial(['numpy.mean', [], {'axis': 1}])"),
        (Plain(), "Plain({'rate': 3})"),
        (float, "builtins.float"),
        (Forgetful(rate=len), "Forgetful(rate='builtins.len')"),
    ):
        with subtests.test(value=type(value)):
            assert describe(value) == text


def test_generators_and_functions_are_told_apart_by_their_state_and_what_they_do():
    first, same, other = (label(SVC(random_state=np.random.RandomState(seed))) for seed in (1, 1, 2))
    assert first == same != other
    assert len({label(numeric()), label(~numeric()), label(numeric() - "x"), label(numeric() - "y")}) == 4
    assert label(lambda x: x + 1) != label(lambda x: x + 2)
    assert label(lambda x: [y + 1 for y in x]) != label(lambda x: [y + 2 for y in x])


@pytest.mark.thorough
def test_descriptions_are_the_same_in_another_process():
    code = (
        "from penstock.core.selectors import numeric; from penstock.search.descriptions import label;"
        "print(label((numeric() - 'x') & ~numeric()))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert told.stdout.strip() == label((numeric() - "x") & ~numeric())
    assert "0x" not in told.stdout


def test_the_ends_of_a_distribution_are_those_of_its_support_or_where_few_values_are_beyond():
    drawn = as_drawn(stats.norm(3, 2))
    assert [drawn.value(end) for end in drawn.ends()] == list(stats.norm(3, 2).ppf([1e-6, 1 - 1e-6]))
    for distribution in (stats.randint(2, 6), stats.binom(3, 0.5), stats.uniform(-1, 3)):
        drawn = as_drawn(distribution)
        assert tuple(map(drawn.value, drawn.ends())) == distribution.support()
