"""Vocabularies that append: codes that were given never change."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import xgboost as xgb

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError


def rows(engine, words) -> ps.Dataset:
    return engine.from_arrow(pa.table({"s": pa.array(words, pa.string())}), fragment_bytes=200)


def fit(engine, words, **options) -> ps.PipelineModel:
    stage = st.StringIndexer("s", order="append", **options)
    return ps.Pipeline(("index", stage)).fit(rows(engine, words), keep_statistics=True)


def vocabulary(model: ps.PipelineModel) -> list[str]:
    return model.fitted[0]["categories"]["s"]["value"].to_pylist()


def grown(parts: list[list[str]], least: int = 1, most: int | None = None) -> list[str]:
    """The vocabulary after parts that come one after the other, by its definition."""
    known: list[str] = []
    for end in range(1, len(parts) + 1):
        counts = Counter(word for part in parts[:end] for word in part)
        often = [word for word in sorted(counts) if counts[word] >= least and word not in known]
        new = sorted(often, key=lambda word: -counts[word])
        known += new if most is None else new[: max(most - len(known), 0)]
    return known


def split(seed: int) -> list[list[str]]:
    """Words of Zipf's distribution, in parts of random sizes, each of which has some of its own."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 60, random.integers(2, 6))
    words = [[f"w{min(word, 30) + number}" for word in random.zipf(1.6, size)] for number, size in enumerate(sizes)]
    return [["w1", *words[0]], *words[1:]]


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"min_frequency": 3}, {"min_frequency": 2, "max_categories": 6}])
def test_what_is_known_stays_and_what_is_new_comes_after(local, options):
    expected = [options.get("min_frequency", 1), options.get("max_categories")]
    for seed in range(4):
        parts = split(seed)
        models = [fit(local, parts[0], **options)]
        for part in parts[1:]:
            models.append(models[-1].refit(rows(local, part)))
        told = [vocabulary(model) for model in models]
        assert told == [grown(parts[:end], *expected) for end in range(1, len(parts) + 1)], seed
        counts = Counter(word for part in parts for word in part)
        table = models[-1].fitted[0]["categories"]["s"]
        assert table["count"].to_pylist() == [counts[word] for word in vocabulary(models[-1])], seed


@pytest.mark.thorough
def test_merging_is_the_chain_of_refits(local):
    for seed in range(3):
        parts = [part for part in split(seed) if part]
        first, *others = (fit(local, part, min_frequency=2) for part in parts)
        chain = first
        for part in parts[1:]:
            chain = chain.refit(rows(local, part))
        assert first.merge(*others).digest == chain.digest, seed


@pytest.mark.thorough
def test_days_of_a_store_append_in_their_order(local, tmp_path):
    parts, store = [["b", "b", "a"], ["d", "c", "c"], ["e", "d", "d"]], ps.StatisticsStore(tmp_path / "days")
    for day, part in enumerate(parts):
        store.put(f"2026-11-0{day + 1}", fit(local, part))
    assert vocabulary(store.merge()) == grown(parts) == ["b", "a", "c", "d", "e"]
    assert vocabulary(store.merge("2026-11-02")) == grown(parts[1:]) == ["c", "d", "e"]


def test_codes_stay_on_every_engine(engine):
    model = fit(engine, ["b", "b", "a"])
    later = model.refit(rows(engine, ["z"] * 5 + ["y"] * 3 + ["a"] * 9))
    words = ["b", "a", None, "z", "y"]
    before, after = (each.transform(rows(engine, words)).to_arrow()["s"].to_pylist() for each in (model, later))
    assert before == [2, 3, 0, 1, 1]  # null and what was not seen come first
    assert after == [2, 3, 0, 4, 5]


def test_codes_of_null_and_unseen_values_may_be_told_to_come_in_another_order(local):
    model = fit(local, ["a"], reserved=("pad", "unseen"), num_oov_buckets=3)
    assert model.transform(rows(local, ["a", None])).to_arrow()["s"].to_pylist() == [5, 4]
    assert model.predict({"s": "a"}) == {"s": 5}


def test_new_values_are_in_their_own_order(local):
    model = fit(local, ["b", "a"], string_order_type="alphabetDesc").refit(rows(local, ["c", "d", "d", "aa"]))
    assert vocabulary(model) == ["b", "a", "d", "c", "aa"]
    assert vocabulary(model.refit(rows(local, ["a"]), fresh=True)) == ["a"]  # which forgets the codes


def test_columns_with_one_vocabulary_append_to_it(local):
    stage = st.StringIndexer(["s", "t"], joint=True, order="append")
    old, new = (local.from_arrow(pa.table(each)) for each in ({"s": ["a"], "t": ["b"]}, {"s": ["c"], "t": ["c"]}))
    found = ps.Pipeline(stage).fit(old, keep_statistics=True).refit(new).fitted[0]["categories"]
    assert found["s"].to_pydict() == found["t"].to_pydict() == {"value": ["a", "b", "c"], "count": [1, 1, 2]}


def test_values_that_are_no_strings_append_too(local):
    for values in [[3, 1, 3], [True, True, False]]:

        def dataset(held: list) -> ps.Dataset:
            return local.from_arrow(pa.table({"s": held}))

        stage = st.StringIndexer("s", order="append")
        model = ps.Pipeline(stage).fit(dataset(values[:1]), keep_statistics=True).refit(dataset(values[1:]))
        assert vocabulary(model) == [values[0], *({*values} - {values[0]})]


def test_what_cannot_append_is_refused():
    for options in [{"vocabulary": ["a"]}, {"sketch_size": 9, "max_categories": 2}]:
        with pytest.raises(ConfigError, match="order of StringIndexer is 'append' with"):
            st.StringIndexer("s", order="append", **options)


@pytest.mark.cpu("trees of a GPU are other ones than those that XGBoost grows here")
def test_trees_go_on_behind_codes_that_stay(local):
    random = np.random.default_rng(0)
    days = [random.choice(list(letters), 120) for letters in ("abc", "bcdef")]
    tables = [pa.table({"s": words, "y": [float(ord(word)) for word in words]}) for words in days]
    index = ("index", st.StringIndexer("s", order="append", output_columns=["code"]))
    trees = ("trees", st.XGBoostRegressor("y", features=["code"], num_boost_round=3, max_depth=3))
    model = ps.Pipeline(index, trees).fit(local.from_arrow(tables[0]), keep_statistics=True)
    learned = model.refit(local.from_arrow(tables[1]), warm_start="trees")
    places = {word: 2.0 + place for place, word in enumerate(grown([list(day) for day in days]))}
    booster = None
    for table in tables:
        codes = np.array([[places[word]] for word in table["s"].to_pylist()])
        matrix = xgb.DMatrix(codes, table["y"].to_numpy(), feature_names=["code"], feature_types=["float"])
        options = {"tree_method": "hist", "max_depth": 3, "seed_per_iteration": True, "nthread": 1}
        booster = xgb.train(options, matrix, 3, xgb_model=booster)
    assert learned.fitted[1]["booster"].data == bytes(booster.save_raw("ubj"))
