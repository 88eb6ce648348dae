"""A stand-in for raft-dask, and for the classes of cuML for several GPUs: ranks that are threads of a test meet in it.

A fit gathers the rows of all ranks, in their order, and fits scikit-learn's estimator on them, as that of one GPU does
on all rows. What the real classes check, demand and leave unset, these do too.
"""

import os
import threading
from types import ModuleType
from typing import Any, ClassVar

import cudf_stand_in.arrays
import cuml_stand_in
import numpy as np

from penstock.stages.training.cuml._estimators import Entry, entries

PATIENCE = 30.0


class Meeting:
    """Where the ranks of one communicator wait for each other."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=PATIENCE)
        self.values: dict[int, Any] = {}

    def gather(self, place: int, value: Any) -> list[Any]:
        try:
            self.values[place] = value
            self.barrier.wait()
            found = [self.values[each] for each in range(self.barrier.parties)]
            self.barrier.wait()
        except threading.BrokenBarrierError:
            raise RuntimeError("ERROR: syncStream failed. This can be caused by a failed rank_.") from None
        return found


class nccl:  # noqa: N801  # raft-dask's name
    meetings: ClassVar[dict[bytes, Meeting]] = {}
    ended: ClassVar[list[str]] = []

    @staticmethod
    def get_unique_id() -> bytes:
        return os.urandom(127)

    def init(self, nranks: int, commId: bytes, rank: int) -> None:  # raft-dask's name
        with _LOCK:
            self.meeting = self.meetings.setdefault(commId, Meeting(nranks))
        self.size, self.rank = nranks, rank
        self.gather(None)

    def gather(self, value: Any) -> list[Any]:
        return self.meeting.gather(self.rank, value)

    def destroy(self) -> None:
        self.ended.append("destroy")
        self.gather(None)

    def abort(self) -> None:
        self.ended.append("abort")  # which nobody else is told


_LOCK = threading.Lock()


class Handle:
    def __init__(self, stream: Any = None, n_streams: int = 0) -> None:
        self.n_streams, self.communicator = n_streams, None

    @property
    def all(self) -> nccl:
        if self.communicator is None:
            raise RuntimeError("comms have not been initialized on this handle")
        return self.communicator


def inject_comms_on_handle_coll_only(handle: Handle, nccl_inst: nccl, size: int, rank: int, verbose: bool) -> None:
    assert (size, rank) == (nccl_inst.size, nccl_inst.rank)
    handle.communicator = nccl_inst


def _on_host(part: Any) -> np.ndarray:
    if not isinstance(part, cudf_stand_in.arrays.ndarray):
        raise TypeError(f"{type(part)} is on the host")
    return part.get()


def together(handle: Handle, *columns: Any) -> list[np.ndarray]:
    """Return the rows of all ranks, one after another, of each of these arrays."""
    found = handle.all.gather([_on_host(each) for each in columns])
    return [np.ascontiguousarray(np.concatenate(parts)) for parts in zip(*found, strict=True)]


class SeveralGpus:
    """What classes for several GPUs have in common: the base is that of one."""

    one: ClassVar[type]

    def __init__(self, *, handle: Handle, output_type: str, **given: Any) -> None:
        assert output_type == "cupy"
        self.handle = handle
        self._check(given)
        for name, value in given.items():
            setattr(self, name, value)
        self._given = given

    def _check(self, given: dict[str, Any]) -> None:
        assert set(given) == set(self.one().get_params())

    def _twin(self) -> Any:
        return self.one._get_cpu_class()(**self._given)

    def _learn(self, *rows: np.ndarray) -> Any:
        self.twin_ = self._twin().fit(*rows)
        return self


class _Laid(SeveralGpus):
    """Those that are told how rows lie on the ranks."""

    def _rows(
        self, parts: list[Any], n_rows: int, n_cols: int, parts_rank_size: list[tuple[int, int]], rank: int
    ) -> list[np.ndarray]:
        ((*columns,),) = [part if isinstance(part, tuple) else (part,) for part in parts]
        sizes = self.handle.all.gather(len(columns[0]))
        assert (parts_rank_size, rank) == (list(enumerate(sizes)), self.handle.all.rank)
        assert (n_rows, n_cols) == (sum(sizes), columns[0].shape[1])
        assert all(size for size in sizes)
        assert {column.dtype for column in columns} == {columns[0].dtype}
        return together(self.handle, *columns)


class Labelled(_Laid):
    least_features: ClassVar[int] = 1

    def fit(self, input_data: Any, n_rows: int, n_cols: int, parts_rank_size: Any, rank: int) -> Any:
        if n_cols < self.least_features:
            raise RuntimeError("olsFit: no algorithm with this id has been implemented")
        return self._learn(*self._rows(input_data, n_rows, n_cols, parts_rank_size, rank))


class Closed(Labelled):
    least_features = 2


class CoordinateDescent(Labelled):
    def _check(self, given: dict[str, Any]) -> None:
        assert {"alpha", "l1_ratio", "fit_intercept", "max_iter", "tol", "shuffle"} <= set(given)
        assert not {"solver", "selection"} & set(given)

    def _twin(self) -> Any:
        given = {name: self._given[name] for name in ("alpha", "l1_ratio", "fit_intercept", "max_iter", "tol")}
        selection = "random" if self._given["shuffle"] else "cyclic"
        return cuml_stand_in.loaded("sklearn.linear_model.ElasticNet")(**given, selection=selection)


class Decomposition(_Laid):
    transforms: ClassVar[bool] = False

    def fit(
        self, X: Any, total_rows: int, n_cols: int, parts_rank_size: Any, rank: int, _transform: bool = False
    ) -> Any:
        if _transform is not self.transforms:
            raise AttributeError("_mg_fit" if self.transforms else "_mg_fit_transform")
        return self._learn(*self._rows(X, total_rows, n_cols, parts_rank_size, rank))


class SingularVectors(Decomposition):
    transforms = True


class KMeansMG(SeveralGpus):
    def validate(self, X: Any, rank: int, n_workers: int) -> None:
        if self.init == "random" and len(X) < self.n_clusters // n_workers:
            raise ValueError(f"init='random' requires rank {rank} to sample, but this rank only has {len(X)} row(s)")

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        if self.random_state is None:
            raise ValueError("KMeansMG requires `random_state != None`")
        assert len({*map(repr, self.handle.all.gather(self.random_state))}) == 1
        x, *weight = together(self.handle, *X, *(sample_weight or ()))
        self._learn(x, None, *weight)
        rows = _on_host(X[0])
        self.twin_.labels_ = self.twin_.predict(rows)
        distances = ((rows - self.twin_.cluster_centers_[self.twin_.labels_]) ** 2).sum(axis=1)
        weighed = distances if sample_weight is None else distances * _on_host(sample_weight[0])
        self.labels_ = cudf_stand_in.arrays.ndarray._of(self.twin_.labels_)
        self.inertia_ = self.twin_.inertia_ = float(weighed.sum())
        return self


class DBSCANMG(SeveralGpus):
    def _check(self, given: dict[str, Any]) -> None:
        assert given.pop("calc_core_sample_indices") is False
        super()._check(given)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, out_dtype: str = "int32") -> Any:
        first, *others = self.handle.all.gather(_on_host(X))
        assert all(np.array_equal(first, other) for other in others)
        found = self._twin().fit(first).labels_ if self.handle.all.rank == 0 else np.full(len(first), 7)
        self.labels_ = cudf_stand_in.arrays.ndarray._of(found.astype(out_dtype))
        return self


KINDS = {
    "CDMG": CoordinateDescent,
    "DBSCANMG": DBSCANMG,
    "KMeansMG": KMeansMG,
    "LinearRegressionMG": Closed,
    "LogisticRegressionMG": Labelled,
    "PCAMG": Decomposition,
    "RidgeMG": Closed,
    "TSVDMG": SingularVectors,
}


def fit_forest(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Fit a forest: on the rows of all ranks, where it was given a handle."""
    if not hasattr(self, "_raft_handle"):
        return cuml_stand_in.OnDevice.fit(self, X, y, sample_weight)
    assert (sample_weight, self._raft_handle.n_streams) == (None, 1)
    x, label = together(self._raft_handle, X, y)
    assert len(x) == self._distributed_n_rows
    if self._estimator_type == "classifier":
        np.testing.assert_array_equal(self._distributed_classes, np.unique(label))
    self.twin_ = self._get_cpu_class()(**self._params_to_cpu()).fit(x, label)
    return self


def _class(entry: Entry, cuml: ModuleType) -> type:
    name = str(entry.several).rpartition(".")[2]
    return type(name, (KINDS[name],), {"one": getattr(cuml, entry.name), "__module__": f"cuml.{entry.several}"})


def modules(cuml: ModuleType) -> dict[str, ModuleType]:
    """Return what is to stand in `sys.modules` beside a stand-in for cuML, whose forests become able to do it."""
    made: dict[str, ModuleType] = {}
    for entry in entries().values():
        module, _, name = f"cuml.{entry.several}".rpartition(".")
        if entry.several == entry.name:
            forest = getattr(cuml, name)
            forest.fit, forest._estimator_type = fit_forest, entry.kind
        elif name in KINDS:
            made[module] = made.get(module, ModuleType(module))
            setattr(made[module], name, _class(entry, cuml))
    return made | _raft()


def _raft() -> dict[str, ModuleType]:
    made = {name: ModuleType(name) for name in ("pylibraft", "pylibraft.common", "raft_dask", "raft_dask.common")}
    made |= {name: ModuleType(name) for name in ("raft_dask.common.comms_utils", "raft_dask.common.nccl")}
    vars(made["pylibraft.common"])["Handle"] = Handle
    vars(made["raft_dask.common.comms_utils"])["inject_comms_on_handle_coll_only"] = inject_comms_on_handle_coll_only
    vars(made["raft_dask.common.nccl"])["nccl"] = nccl
    return made
