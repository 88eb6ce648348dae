"""Models that learn on: from new rows alone, by merging, and by days."""

import json
import shutil
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.cli.commands import main
from penstock.errors import (
    ArtifactError,
    ArtifactIntegrityError,
    ConfigError,
    MissingInputError,
    PenstockError,
    SchemaDriftError,
    UntrustedArtifactError,
)
from penstock.testing.datasets import count_reads

RNG = np.random.default_rng(0)


def day(number: int, rows: int = 90) -> pa.Table:
    """Rows of one day: numbers with gaps, and words of which each day has some of its own."""
    x = RNG.normal(number, 1 + number, rows)
    words = [f"w{word}" for word in RNG.integers(number, 6 + number, rows)]
    return pa.table({"x": pa.array(x, mask=x > number + 2), "s": words, "y": RNG.integers(0, 2, rows)})


DAYS = [day(number) for number in range(4)]
WHOLE = pa.concat_tables(DAYS)
EXACT = ps.Pipeline(st.MinMaxScaler("x"), st.StringIndexer("s", min_frequency=20))
PIPELINE = ps.Pipeline(("impute", st.Imputer("x")), ("scale", st.StandardScaler("x")), ("code", st.StringIndexer("s")))


def rows(engine, table: pa.Table):
    return engine.from_arrow(table, fragment_bytes=500)


def fit(engine, table: pa.Table, pipeline: ps.Pipeline = EXACT) -> ps.PipelineModel:
    return pipeline.fit(rows(engine, table), keep_statistics=True)


def test_a_chain_of_refits_is_a_fit_on_all_rows(engine):
    model = fit(engine, DAYS[0])
    for table in DAYS[1:]:
        model = model.refit(rows(engine, table))
    assert model.digest == EXACT.fit(rows(engine, WHOLE)).digest


def test_only_new_rows_are_read(local):
    new, source = count_reads(rows(local, DAYS[1]))
    learned = fit(local, DAYS[0]).refit(new)
    assert (source.times, learned.report.rows.read) == (1, len(DAYS[1]))


@pytest.mark.thorough
def test_a_stage_behind_one_that_learns_values_or_which_rows_to_drop_needs_the_old_rows(local):
    model = fit(local, DAYS[0], ps.Pipeline(("impute", st.Imputer("x")), ("scale", st.RobustScaler("x"))))
    with pytest.raises(ConfigError) as caught:
        model.refit(rows(local, DAYS[1]))
    assert "scale (RobustScaler), which learns from what impute (Imputer) makes" in caught.value.message
    assert "freeze=['impute']" in caught.value.hint
    model = fit(local, DAYS[0], ps.Pipeline(("drop", st.DropOutliers("x")), ("scale", st.MinMaxScaler("y"))))
    with pytest.raises(ConfigError, match=r"scale \(MinMaxScaler\), which learns from what drop"):
        model.refit(rows(local, DAYS[1]))
    assert model.refit(rows(local, DAYS[1]), freeze="drop").fitted[0] == model.fitted[0]


@pytest.mark.thorough
def test_moments_behind_an_imputer_need_no_old_rows(engine):
    model = fit(engine, DAYS[0], PIPELINE)
    for table in DAYS[1:]:
        model = model.refit(rows(engine, table))
    imputed = pl.DataFrame(WHOLE)["x"]
    imputed = imputed.fill_null(imputed.mean())
    assert model.fitted[0]["values"]["x"] == pytest.approx(imputed.mean(), rel=1e-14)
    assert model.fitted[1]["mean"]["x"] == pytest.approx(imputed.mean(), rel=1e-12)
    assert model.fitted[1]["scale"]["x"] == pytest.approx(imputed.std(), rel=1e-12)
    first, *others = (fit(engine, table, PIPELINE) for table in DAYS)
    assert first.merge(*others).digest == model.digest


@pytest.mark.thorough
def test_behind_a_frozen_stage_the_others_learn_of_what_it_makes(engine):
    model = fit(engine, DAYS[0], PIPELINE).refit(rows(engine, DAYS[1]), freeze="impute")
    fill = pl.DataFrame(DAYS[0])["x"].mean()
    imputed = pl.DataFrame(pa.concat_tables(DAYS[:2]))["x"].fill_null(fill)
    assert model.fitted[0]["values"]["x"] == pytest.approx(fill, rel=1e-14)
    assert model.fitted[1]["mean"]["x"] == pytest.approx(imputed.mean(), rel=1e-12)
    assert model.fitted[1]["scale"]["x"] == pytest.approx(imputed.std(), rel=1e-12)


@pytest.mark.thorough
def test_a_stage_that_was_frozen_stays_so(local):
    model = fit(local, DAYS[0], PIPELINE).refit(rows(local, DAYS[1]), freeze="impute")
    again = model.refit(rows(local, DAYS[2]), freeze="impute")
    assert again.fitted[0] == model.fitted[0]
    with pytest.raises(ConfigError, match="no statistics of impute"):
        model.refit(rows(local, DAYS[2]), freeze="scale")


@pytest.mark.thorough
def test_what_is_fresh_forgets_the_rows_before(local):
    base = fit(local, DAYS[0], PIPELINE)
    days = [base.refit(rows(local, table), freeze="impute", fresh=True) for table in DAYS[:2]]
    imputed = pl.DataFrame(DAYS[1])["x"].fill_null(base.fitted[0]["values"]["x"])
    assert days[1].fitted[1]["mean"]["x"] == pytest.approx(imputed.mean(), rel=1e-12)
    assert days[0].merge(days[1]).digest == base.refit(rows(local, DAYS[1]), freeze="impute").digest


@pytest.mark.thorough
def test_a_trainer_is_frozen_or_trained_anew_behind_frozen_stages_or_refused(local):
    pipeline = ps.Pipeline(("index", st.StringIndexer("s")), ("model", st.LogisticRegression("y", features=["s"])))
    model = fit(local, DAYS[0], pipeline)
    with pytest.raises(ConfigError, match=r"model \(LogisticRegression\), which is trained on rows"):
        model.refit(rows(local, DAYS[1]), freeze="index")
    assert model.refit(rows(local, DAYS[1]), freeze=["index", "model"]).digest == model.digest
    index = ps.Pipeline(st.StringIndexer("s")).fit(rows(local, DAYS[0]))
    alone = ps.Pipeline(st.LogisticRegression("y", features=["s"])).fit(index.transform(rows(local, DAYS[1])))
    assert model.refit(rows(local, DAYS[1]), freeze="index", fresh=True).fitted[1] == alone.fitted[0]


def test_columns_of_other_types_are_taken_as_they_were_fitted_on(local):
    model = fit(local, pa.table({"x": [1, 5]}), ps.Pipeline(st.MinMaxScaler("x")))
    new = model.refit(rows(local, pa.table({"x": pa.array([9.0, None])})))
    assert new.digest == ps.Pipeline(st.MinMaxScaler("x")).fit(rows(local, pa.table({"x": [1, 5, 9, None]}))).digest
    with pytest.raises(SchemaDriftError, match="x"):
        model.refit(rows(local, pa.table({"x": ["a"]})))


@pytest.mark.thorough
def test_what_a_refit_and_a_merge_need_is_told(local):
    model = EXACT.fit(rows(local, DAYS[0]))
    with pytest.raises(ConfigError, match="keeps no statistics"):
        model.refit(rows(local, DAYS[1]))
    with pytest.raises(ConfigError, match=r"no stage is called 'code'.*StringIndexer"):
        fit(local, DAYS[0]).refit(rows(local, DAYS[1]), freeze="code")
    with pytest.raises(ConfigError, match="refit takes a Dataset"):
        fit(local, DAYS[0]).refit(DAYS[1])
    other = ps.Pipeline(st.MinMaxScaler("x"), st.StringIndexer("s"))
    with pytest.raises(ConfigError, match="other stages, parameters or columns"):
        fit(local, DAYS[0]).merge(fit(local, DAYS[1], other))


@pytest.mark.thorough
def test_merging_is_the_chain_of_refits_to_the_bit(local):
    sums = ps.Pipeline(st.StandardScaler("x"), st.PCA(["y", "z"], 1))
    numbers = [pa.table({name: RNG.normal(3, 7, 41) for name in "xyz"}) for _ in range(5)]
    for pipeline, tables in ((EXACT, DAYS), (sums, numbers)):
        models = [fit(local, table, pipeline) for table in tables]
        chain = models[0]
        for table in tables[1:]:
            chain = chain.refit(rows(local, table))
        assert models[0].merge(*models[1:]).digest == chain.digest


@pytest.mark.thorough
def test_models_behind_one_frozen_stage_are_merged(local):
    base = fit(local, DAYS[0], PIPELINE)
    parts = [base.refit(rows(local, table), freeze="impute") for table in DAYS[1:3]]
    merged = parts[0].merge(parts[1])
    twice = [DAYS[0], DAYS[1], DAYS[0], DAYS[2]]
    imputed = pl.DataFrame(pa.concat_tables(twice))["x"].fill_null(base.fitted[0]["values"]["x"])
    assert merged.fitted[1]["mean"]["x"] == pytest.approx(imputed.mean(), rel=1e-12)
    other = fit(local, DAYS[3], PIPELINE).refit(rows(local, DAYS[1]), freeze="impute")
    with pytest.raises(ConfigError, match="learned other things in impute"):
        parts[0].merge(other)


def test_a_fit_says_how_large_what_it_keeps_is_and_a_manifest_that_it_does(local, tmp_path):
    model = fit(local, DAYS[0])
    tables = [model.statistics[0, "extremes"].state["x"], model.statistics[1, "values"].state["s"]["table"]]
    size = sum(table.nbytes for table in tables)
    assert model.report.notes == [f"statistics of 2 stage(s) are kept, {size} B of tables"]
    model.save(tmp_path / "model")
    assert "kept-statistics" in (tmp_path / "model" / "_manifest.json").read_text()


def test_statistics_do_not_change_what_is_learned(local):
    assert fit(local, DAYS[0], PIPELINE).digest == PIPELINE.fit(rows(local, DAYS[0])).digest


def test_documents_that_are_no_statistics_are_refused(subtests):
    for document, problem in [
        ([], "is no object"),
        ({"a": 1}, "is no statistic"),
        ({"a": {"statistic": 1, "state": 2}}, "is no statistic"),
        ({"a": {"statistic": "s", "state": {"$table": "state/0.0.parquet"}}}, "is no part of it"),
        ({"a": {"statistic": "s", "state": {"$blob": "x"}}}, "is no part of it"),
    ]:
        with subtests.test(document=document):
            from penstock.artefact.statistics import decode_statistics

            def part(mark: str, path: str) -> pa.Table:
                raise ArtifactError(f"{path!r} is no part of it")

            with pytest.raises((ArtifactError, UntrustedArtifactError), match=problem):
                decode_statistics(0, document, part)


def test_statistics_of_another_statistic_are_not_merged(local):
    model = fit(local, DAYS[0])
    changed = {key: type(kept)("Moments(columns=('z',))", kept.state) for key, kept in model.statistics.items()}
    with pytest.raises(ConfigError, match="was kept as Moments"):
        type(model)(model.stages, model.fitted, model.schema, statistics=changed).refit(rows(local, DAYS[1]))


@pytest.fixture(scope="module")
def kept_days(engines, tmp_path_factory) -> Path:
    """The folder of a store that has four days; tests change a copy."""
    folder = tmp_path_factory.mktemp("kept") / "days"
    made = ps.StatisticsStore(folder)
    for number, table in enumerate(DAYS, start=1):
        made.put(date(2026, 11, number), fit(engines.get("local"), table))
    return folder


@pytest.fixture
def store(kept_days, tmp_path) -> ps.StatisticsStore:
    return ps.StatisticsStore(shutil.copytree(kept_days, tmp_path / "days"))


@pytest.mark.thorough
def test_a_store_answers_any_span_of_days_and_leaves_days_out(local, store):
    for first, last in ((0, 4), (1, 3), (2, 3)):
        merged = store.merge(f"2026-11-0{first + 1}", date(2026, 11, last))
        assert merged.digest == EXACT.fit(rows(local, pa.concat_tables(DAYS[first:last]))).digest
    assert store.merge().digest == store.merge(last="2026-11-04").digest
    assert store.keys() == [f"2026-11-0{number}" for number in (1, 2, 3, 4)]
    rest = EXACT.fit(rows(local, pa.concat_tables([DAYS[0], DAYS[3]])))
    assert store.merge(drop=["2026-11-03", date(2026, 11, 2)]).digest == rest.digest
    with pytest.raises(MissingInputError, match="has no 2026-11-09 to drop"):
        store.merge(drop="2026-11-09")


@pytest.mark.thorough
def test_a_day_that_was_damaged_is_named(store, tmp_path):
    path = tmp_path / "days" / "2026-11-02" / "statistics" / "0.json"
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    with pytest.raises(ArtifactIntegrityError, match=r"statistics/0\.json") as raised:
        store.merge()
    assert "2026-11-02" in raised.value.path


@pytest.mark.thorough
def test_a_store_at_a_url_answers_as_a_folder_does(local, store):
    remote = ps.StatisticsStore("memory://days-of-refits")
    for key in store.keys():  # noqa: SIM118 - a store is no dict
        remote.put(key, store.get(key))
    assert remote.merge().digest == store.merge().digest
    store.put("2026-11-02", store.get("2026-11-01"))  # which replaces the day
    assert store.get("2026-11-02").digest == store.get("2026-11-01").digest
    assert len(store.keys()) == 4


@pytest.mark.thorough
def test_a_store_takes_models_with_statistics_alone_under_names_of_folders(local, store):
    with pytest.raises(ConfigError, match="keeps no statistics"):
        store.put("2026-11-09", EXACT.fit(rows(local, DAYS[0])))
    model = fit(local, DAYS[0])
    for key in ("", "../up", "a/b", 3):
        with pytest.raises(ConfigError, match="the key of statistics is"):
            store.put(key, model)


@pytest.mark.thorough
def test_what_is_no_day_is_passed_over(store, tmp_path):
    (tmp_path / "days" / "_tmp").mkdir()
    assert len(store.keys()) == 4
    with pytest.raises(MissingInputError, match="no statistics from 2026-12-01 to the last"):
        store.merge("2026-12-01")
    with pytest.raises(MissingInputError):
        store.get("2026-12-01")
    shutil.rmtree(tmp_path / "days")
    assert store.keys() == []


@pytest.fixture
def project(local, tmp_path, monkeypatch):
    """A folder with days as files and, learned from the first, a model that keeps statistics and one that does not."""
    for number, table in enumerate(DAYS[:2]):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    monkeypatch.chdir(tmp_path)
    fit(local, DAYS[0]).save("m")
    EXACT.fit(rows(local, DAYS[0])).save("bare")


def run(*arguments: str) -> int:
    return main([*map(str, arguments), "--json", "--device", "cpu"])


@pytest.mark.thorough
def test_the_command_line_learns_on_as_python_does(local, project, capsys):
    assert run("refit", "m", "--data", "1.parquet", "--out", "m", "--overwrite") == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    expected = EXACT.fit(rows(local, pa.concat_tables(DAYS[:2])))
    assert told["digest"] == ps.PipelineModel.load("m").digest == expected.digest
    assert (told["rows"], told["rows_read"], told["frozen"]) == (90, 90, [])


@pytest.mark.thorough
def test_the_command_line_says_what_to_freeze(project, capsys):
    assert run("refit", "bare", "--data", "1.parquet", "--out", "n") == 2
    assert "keeps no statistics" in capsys.readouterr().err
    frozen = "MinMaxScaler,StringIndexer"  # nothing is learned
    assert run("refit", "bare", "--data", "1.parquet", "--out", "n", "--freeze", frozen) == 0
    assert ps.PipelineModel.load("n").digest == ps.PipelineModel.load("bare").digest


@pytest.mark.thorough
def test_of_two_refits_at_once_one_wins_and_the_other_is_told(local, project, capsys, monkeypatch):
    learn_on, other = ps.PipelineModel.refit, []

    def meanwhile(model, *arguments, **options):
        learned = learn_on(model, *arguments, **options)
        if not other:
            other.append(None)
            assert run("refit", "m", "--data", "1.parquet", "--out", "m", "--overwrite") == 0
        return learned

    monkeypatch.setattr(ps.PipelineModel, "refit", meanwhile)
    assert run("refit", "m", "--data", "0.parquet", "--out", "m", "--overwrite") != 0
    assert "CommitConflictError" in capsys.readouterr().err
    assert ps.PipelineModel.load("m").digest == EXACT.fit(rows(local, pa.concat_tables(DAYS[:2]))).digest


def test_a_state_that_is_too_large_is_neither_saved_nor_read(local, tmp_path, monkeypatch):
    model = fit(local, DAYS[0], ps.Pipeline(st.StandardScaler("x")))
    model.save(tmp_path / "model")
    monkeypatch.setattr(sys.modules["penstock.artefact.folder"], "JSON_LIMIT", 300)
    with pytest.raises(ArtifactIntegrityError, match=r"statistics/0\.json has \d+ bytes, expected 300 at most"):
        ps.PipelineModel.load(tmp_path / "model")
    monkeypatch.setattr(sys.modules["penstock.artefact.save"], "JSON_LIMIT", 300)
    with pytest.raises(PenstockError, match=r"statistics/0\.json[\s\S]*300"):
        model.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_state_that_somebody_has_forged_is_no_bare_error_of_a_refit(subtests):
    rows = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1.0, 2.0, None, 9.0]}))
    model = ps.Pipeline(st.StandardScaler("x")).fit(rows, keep_statistics=True)
    for key, kept in model.statistics.items():
        for forged in ({}, [], "x", None, -5, {"x": {}}, {"x": []}, {"x": "x"}):
            statistics = {**model.statistics, key: replace(kept, state=forged)}
            with subtests.test(f"{key} {forged}"), pytest.raises(ArtifactError, match="is no state of it"):
                replace(model, statistics=statistics).refit(rows)
