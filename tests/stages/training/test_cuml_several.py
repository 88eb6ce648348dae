"""Estimators of cuML on several GPUs: what ranks learn together is what one learns; and what is not fitted so."""

import inspect
import re
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
import several_gpus_stand_in
from cuml_stand_in import FEATURES, SIZE, X, Y, loaded
from several_gpus_stand_in import nccl

from penstock import devices
from penstock import stages as st
from penstock.core.extras import how_to_install
from penstock.dataset import Dataset
from penstock.devices import Device
from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError, MissingExtraError, RowCountError, StageTimeoutError
from penstock.pipeline import Pipeline
from penstock.spmd import SpmdOptions
from penstock.stages.base import Fitted
from penstock.stages.training.cuml import _several
from penstock.stages.training.cuml._estimators import entries
from penstock.stages.training.transductive._stage import _TransductiveEstimator
from penstock.testing import LocalGang

ROOT = Path(__file__).parents[3]
SEEDED = {"random_state": 0}
BY_ALL: dict[str, tuple[dict[str, Any], str | None]] = {
    "ElasticNet": ({}, "y"),
    "KMeans": ({"n_clusters": 4, "init": "random", "n_init": 1, **SEEDED}, None),
    "Lasso": ({"selection": "cyclic"}, "y"),
    "LinearRegression": ({}, "y"),
    "LogisticRegression": ({"max_iter": 2000}, "size"),
    "PCA": ({"n_components": 2, "svd_solver": "full"}, None),
    "RandomForestClassifier": ({"n_estimators": 5, **SEEDED}, "size"),
    "RandomForestRegressor": ({"n_estimators": 5, **SEEDED}, "y"),
    "Ridge": ({"solver": "auto"}, "y"),
    "TruncatedSVD": ({"n_components": 2, **SEEDED}, None),
}
"""Those of the table that are fitted by all ranks, with parameters and a label."""

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF, cuML and raft-dask are stand-ins")]


@pytest.fixture
def several(cuml: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in for cuML, with those for its classes of several GPUs and raft-dask; each thread has a GPU."""
    for name, module in several_gpus_stand_in.modules(cuml).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(devices, "use", lambda kind: Device("gpu", 0, uuid=f"GPU-{threading.get_ident()}"))
    monkeypatch.setattr(nccl, "meetings", {})
    monkeypatch.setattr(nccl, "ended", [])
    return cuml


def dataset(**columns: Any) -> Dataset:
    """Return the features and more columns, in six fragments."""
    known = {"size": SIZE, "y": Y, "z": -Y, "w": np.arange(len(X)) % 3, **columns}
    table = pa.table({**dict(zip(FEATURES, X.T, strict=True)), **known})
    return LocalEngine(device="gpu").from_arrow(table, fragment_bytes=table.nbytes // 6)


def stage(cuml: ModuleType, name: str, options: dict[str, Any] | None = None, **more: Any) -> st.CumlEstimator:
    given, label = BY_ALL.get(name, ({}, None))
    known = {"label": label, "features": FEATURES, **more}
    return st.CumlEstimator(getattr(cuml, name)(**(given if options is None else options)), **known)


def fitted_by(size: int, trainer: Any, data: Dataset | None = None, **options: Any) -> Fitted:
    """Return what rank 0 of a gang has learned."""
    gang = LocalGang(size, options=SpmdOptions(**options))
    return gang.train(trainer, dataset() if data is None else data)[0]


def alike(found: Fitted, expected: Fitted) -> None:
    """Check that two have learned the same, but for the last digits of a cost that ranks have added up."""
    found, expected = ({**each, **each.get("learned", {})} for each in (found, expected))
    if "cost" in expected:
        np.testing.assert_allclose(found["cost"], expected["cost"], rtol=1e-5)
        found, expected = ({**each, "cost": None, "learned": None} for each in (found, expected))
    assert found == expected


# What ranks learn together


@pytest.mark.thorough
def test_ranks_learn_together_what_one_learns(several, subtests):
    for place, name in enumerate(BY_ALL):
        trainer, size = stage(several, name), 2 + place % 2
        nccl.ended.clear()
        with subtests.test(name, size=size):
            alike(fitted_by(size, trainer), Pipeline(trainer).fit(dataset()).fitted[0])
            assert nccl.ended == ["destroy"] * size


def test_the_cases_are_what_the_table_has_several_gpus_for():
    kept = {name for name, entry in entries().items() if entry.refusal is None and entry.several is not None}
    assert set(BY_ALL) == kept
    assert set(_several._TAKEN) == kept | {"DBSCAN"}


def test_the_page_names_what_several_gpus_fit():
    page = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8").partition("## Estimators of cuML on several GPUs")[2]
    rows = [line.split("|")[1] for line in page.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    named = {name for cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(_several._TAKEN)


@pytest.mark.thorough
def test_weights_of_clusters_are_those_of_the_rows(several):
    trainer = stage(several, "KMeans", weight="w", dtype="float64")
    alike(fitted_by(3, trainer), Pipeline(trainer).fit(dataset()).fitted[0])


@pytest.mark.thorough
def test_ranks_without_rows_fit_nothing_and_rank_0_has_what_was_learned(several, subtests):
    rows = dataset(place=np.arange(len(X)))
    for name, first, last in [("KMeans", 100, 240), ("RandomForestClassifier", 170, 240), ("PCA", 0, 70)]:
        data = rows.filter((nw.col("place") >= first) & (nw.col("place") < last))
        trainer = stage(several, name)
        with subtests.test(name, first=first, last=last):
            alike(fitted_by(3, trainer, data), Pipeline(trainer).fit(data).fitted[0])


@pytest.mark.thorough
def test_a_share_of_the_rows_may_have_no_weight_and_all_of_them_have_to_have_some(several):
    trainer = stage(several, "KMeans", weight="w")
    data = dataset(w=np.repeat([0.0, 1.0], len(X) // 2))
    alike(fitted_by(2, trainer, data), Pipeline(trainer).fit(data).fitted[0])
    with pytest.raises(DataValueError, match="all weights in column 'w' are 0"):
        fitted_by(2, trainer, dataset(w=np.zeros(len(X))))


@pytest.mark.thorough
def test_ranks_draw_alike_where_nothing_says_from_what(several):
    clusters = {**BY_ALL["KMeans"][0], "random_state": None}
    assert fitted_by(3, stage(several, "KMeans", clusters))["learned"]["sizes"]


def test_rows_that_come_and_go_are_refused(several):
    trainer = stage(several, "PCA").bind(dataset().schema)
    with pytest.raises(RowCountError, match="240 rows were read, and 241 were counted before"):
        LocalGang(2).run(lambda rank: trainer.train(rank, {"rows": 241}), {"train": dataset()})


@pytest.mark.thorough
def test_vectors_are_features_of_all_ranks(several):
    data = dataset(v=pa.FixedSizeListArray.from_arrays(X.ravel(), 3))
    trainer = stage(several, "PCA", features="v")
    assert fitted_by(2, trainer, data) == Pipeline(trainer).fit(data).fitted[0]


# What one of them fits


ALONE: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("SVR", {}, {"label": "y"}, "cuML has no SVR of several"),
    ("Ridge", {"solver": "svd"}, {}, "several take no solver='svd' of Ridge"),
    ("Lasso", {}, {"weight": "w"}, "several take no weights of Lasso"),
    ("LinearRegression", {}, {"label": ("y", "z")}, "several learn one label"),
    ("LinearRegression", {}, {"features": "a"}, "several take no 1 feature(s) of LinearRegression"),
    ("KMeans", BY_ALL["KMeans"][0], {"method": "transform"}, "with distances the cluster of every row is kept"),
]
BY_PARAMETER: list[tuple[str, dict[str, Any]]] = [
    ("Ridge", {"solver": "svd"}),
    ("Ridge", {"alpha": np.array([1.0])}),
    ("KMeans", {"init": "k-means++"}),
    ("LogisticRegression", {"class_weight": "balanced"}),
    ("RandomForestClassifier", {"class_weight": "balanced"}),
    ("RandomForestClassifier", {"oob_score": True}),
    ("RandomForestRegressor", {"oob_score": True}),
]


@pytest.mark.thorough
def test_one_gpu_fits_what_several_cannot_and_a_note_says_so(several, subtests):
    for name, options, more, reason in ALONE:
        trainer = stage(several, name, options, **more)
        with subtests.test(reason):
            found = fitted_by(2, trainer)
            note, *warned = found["warnings"]
            assert note.startswith(f"one of 2 GPUs fitted it: {reason}")
            assert trainer.bind(dataset().schema).notes(found)[0] == note
            assert {**found, "warnings": warned} == Pipeline(trainer).fit(dataset()).fitted[0]
    assert nccl.meetings == {}


def test_a_value_that_several_do_not_take_is_named(several, subtests):
    for name, given in BY_PARAMETER:
        ((parameter, value),) = given.items()
        estimator = getattr(several, name)(**{**BY_ALL[name][0], **given})
        with subtests.test(name, parameter=parameter):
            reason = _several.why_alone(estimator, entries()[name], 3, weighted=False)
            assert reason == f"several take no {parameter}={value!r} of {name}"


def test_parameters_that_only_cuml_has_are_looked_at_too():
    entry, told = entries()["KMeans"], {"init": np.zeros((2, 3)), "oversampling_factor": 0}
    estimator = type("KMeans", (), {"get_params": lambda self, deep: told})()
    assert _several.why_alone(estimator, entry, 3, weighted=True) == "several take no oversampling_factor=0 of KMeans"
    many = type("PCA", (), {"get_params": lambda self, deep: {"n_components": 4}})()
    assert _several.why_alone(many, entries()["PCA"], 3, weighted=False) == "several take no 3 feature(s) of PCA"
    assert _several.why_alone(many, entries()["PCA"], 4, weighted=False) is None
    told["oversampling_factor"] = 2.0
    assert _several.why_alone(estimator, entry, 3, weighted=True) is None


# What is refused


@pytest.mark.thorough
def test_ranks_that_share_a_gpu_are_refused_before_anything_is_read(several, monkeypatch):
    monkeypatch.setattr(devices, "use", lambda kind: Device("gpu", 0, uuid="GPU-5d0c"))
    with pytest.raises(ConfigError, match="2 of 2 ranks have one GPU, GPU-5d0c: NCCL needs one for each") as refused:
        fitted_by(2, stage(several, "PCA"))
    assert "world_size" in refused.value.hint
    monkeypatch.setattr(devices, "use", lambda kind: Device("gpu", 0))
    with pytest.raises(ConfigError, match=r"ranks have one GPU, gpu:0 of 127\.0\.0\.1"):
        fitted_by(3, stage(several, "PCA"))
    assert nccl.meetings == {}


@pytest.mark.thorough
def test_without_raft_dask_it_is_told_how_to_install_it(several, hide_modules):
    hide_modules("raft_dask")
    with pytest.raises(MissingExtraError, match="raft-dask cannot be imported") as refused:
        fitted_by(2, stage(several, "PCA"))
    assert refused.value.hint == how_to_install("gpu")
    fitted_by(1, stage(several, "PCA"))


@pytest.mark.thorough
def test_a_share_larger_than_a_quarter_of_its_gpu_is_refused(several):
    share = 4 * 3 * len(X) // 2
    fitted_by(2, stage(several, "PCA", memory_limit=share))
    with pytest.raises(ConfigError, match="120 rows x 3 columns x 4 bytes = 1,440 bytes do not fit"):
        fitted_by(2, stage(several, "PCA", memory_limit=share - 1))


@pytest.mark.thorough
def test_more_clusters_than_rows_are_refused_on_every_rank(several):
    with pytest.raises(DataValueError, match="there are 240 rows for 500 clusters"):
        fitted_by(2, stage(several, "KMeans", {**BY_ALL["KMeans"][0], "n_clusters": 500}))
    assert nccl.ended == ["abort"] * 2


@pytest.mark.thorough
def test_clusters_that_a_rank_has_too_few_rows_to_begin_are_refused_on_every_rank(several):
    data = dataset(place=np.arange(len(X))).filter((nw.col("place") < 82) | (nw.col("place") >= 160))
    clusters = {**BY_ALL["KMeans"][0], "n_clusters": 9}
    with pytest.raises(DataValueError, match="requires rank 1 to sample"):
        fitted_by(3, stage(several, "KMeans", clusters), data)
    assert nccl.ended == ["abort"] * 3


# What goes wrong between them


@pytest.mark.thorough
@pytest.mark.faults
def test_nccl_is_not_waited_for_longer_than_the_options_allow(several, monkeypatch):
    never = threading.Event()
    monkeypatch.setattr(nccl, "init", lambda self, *_: never.wait())
    with pytest.raises(StageTimeoutError, match=r"did not connect rank [01] with the others within 1 s"):
        fitted_by(2, stage(several, "PCA"), timeout=1.0)
    never.set()


@pytest.mark.thorough
def test_what_connecting_raises_is_raised(several, monkeypatch):
    def broken(self: nccl, *_: Any) -> None:
        raise RuntimeError("NCCL_ERROR: unhandled system error")

    monkeypatch.setattr(nccl, "init", broken)
    with pytest.raises(RuntimeError, match="unhandled system error"):
        fitted_by(2, stage(several, "PCA"))


@pytest.mark.thorough
@pytest.mark.parametrize(("error", "ended"), [(MemoryError, ["abort"]), (RuntimeError, [])])
def test_a_rank_that_fails_lets_the_others_go(error, ended, several, monkeypatch):
    kind = sys.modules["cuml.decomposition.pca_mg"].PCAMG
    fitting = kind.fit

    def fail_on_one(self: Any, *arguments: Any) -> Any:
        if self.handle.all.rank == 1:
            self.handle.all.meeting.barrier.abort()
            raise error("the GPU is full")
        return fitting(self, *arguments)

    monkeypatch.setattr(kind, "fit", fail_on_one)
    with pytest.raises((error, RuntimeError)):
        fitted_by(2, stage(several, "PCA"))
    assert nccl.ended == ended


# Labels of the rows that are fitted


@pytest.mark.thorough
def test_ranks_label_rows_together_as_one_does(several):
    trainer = _TransductiveEstimator(several.DBSCAN(eps=2.0, algorithm="brute"), "fit_predict", features=FEATURES)
    few = dataset(place=np.arange(len(X))).filter(nw.col("place") < 3)
    assert fitted_by(3, trainer) == Pipeline(trainer).fit(dataset()).fitted[0]
    assert nccl.ended == ["destroy"] * 3
    assert fitted_by(2, trainer, few) == Pipeline(trainer).fit(few).fitted[0]


def test_only_what_several_gpus_fit_asks_for_more_than_one_rank(several):
    def single(estimator: Any, method: str = "fit_predict") -> bool:
        return _TransductiveEstimator(estimator, method).tags.single_rank

    assert not single(several.DBSCAN(algorithm="brute"))
    assert single(several.DBSCAN(algorithm="ball_tree"))
    assert single(several.SpectralClustering())
    assert single(several.SpectralEmbedding(), "fit_transform")
    assert single(loaded("sklearn.cluster.DBSCAN")(algorithm="brute"))


# The real packages, where they are installed; none of this needs a GPU


@pytest.fixture
def real() -> None:
    pytest.importorskip("cuml", reason="only `make check-gpu` has it")


def test_installed_classes_take_what_they_are_made_and_fitted_with(real, subtests):
    for name in _several._TAKEN:
        with subtests.test(name):
            assert_taken(name)


def assert_taken(name: str) -> None:
    entry, estimator = entries()[name], loaded(f"cuml.{entries()[name].name}")()
    assert set(_several._TAKEN[name]) <= set(estimator.get_params())
    assert _several.why_alone(estimator, entry, 2, weighted=False) is None
    if entry.several == entry.name:
        inspect.signature(estimator.fit).bind(X, Y)
        source = Path(inspect.getfile(type(estimator))).with_name("randomforest_common.pyx").read_text()
        assert {"_raft_handle", "_distributed_n_rows"} <= set(re.findall(r"_raft_handle|_distributed_\w+", source))
        return
    together = _several.Group(object(), 0, (1, 2), 7)
    model = _several._class_of(entry)(handle=together.handle, **_several._parameters(estimator, together))
    calls: list[Any] = []
    signature = inspect.signature(model.fit)
    told = SimpleNamespace(fit=lambda *args, **given: calls.append(signature.bind(*args, **given)), n_components=1)
    told.validate, told.n_clusters = getattr(model, "validate", None), 2
    rows = SimpleNamespace(x=np.zeros((2, 3)), label=np.zeros(2), weight=None)
    if name == "DBSCAN":
        signature.bind(rows.x, out_dtype="int32")
    else:
        _several._FITS.get(name, _several._fit_labelled)(told, together, rows)
        assert len(calls) == 1


def test_installed_conversions_read_what_fits_on_several_gpus_have_set(real, subtests):
    for name in BY_ALL:
        if not name.startswith("RandomForest"):
            with subtests.test(name):
                assert_read(name)


def assert_read(name: str) -> None:
    entry = entries()[name]
    one, many = loaded(f"cuml.{entry.name}"), _several._class_of(entry)
    from tools.cuml_table import _source

    owner = next(base for base in one.__mro__ if "_attrs_to_cpu" in vars(base))
    read = set(re.findall(r"self\.(\w+_)\b", _source(owner, "_attrs_to_cpu")))
    names = {base.__module__ for base in many.__mro__ if base.__module__.startswith("cuml.")}
    sources = [Path(str(sys.modules[name].__file__)) for name in names]
    compiled = [path.with_name(f"{path.name.partition('.')[0]}.pyx") for path in sources if path.suffix != ".py"]
    made = "".join(path.read_text() for path in (*compiled, *sources) if path.suffix != ".so")
    assert read <= set(re.findall(r"self\.(\w+_) = ", made)) | {"n_iter_", "n_samples_"}


def test_installed_raft_dask_connects_as_it_is_asked_to(real):
    handle, inject, communicator = _several._raft()
    assert list(inspect.signature(communicator.init).parameters)[1:] == ["nranks", "commId", "rank"]
    assert {"abort", "destroy", "get_unique_id"} <= set(vars(communicator))
    assert "inject_comms_on_handle_coll_only(handle, nccl_inst, size, rank, verbose)" in inject.__doc__
    assert handle(n_streams=0).getHandle()


def test_raft_dask_is_locked_with_cuml():
    locked = (ROOT / "requirements" / "gpu.lock").read_text(encoding="utf-8")
    found = {name: re.findall(rf"^{name}-cu13==(\S+)$", locked, re.M) for name in ("cuml", "raft-dask", "pylibraft")}
    assert len(found["cuml"]) == 1
    assert found["raft-dask"] == found["pylibraft"] == found["cuml"]
