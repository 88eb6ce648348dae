"""Fits on several GPUs, one a rank, by the classes and with the arguments of `cuml.dask`, on ranks of any engine.

Every rank hands over the rows that it has read, and NCCL adds up what cuML makes of them. These classes are no public
API of cuML: `make check-gpu` compares what is called here with what is installed.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from operator import not_
from typing import Any

import numpy as np

from penstock import devices
from penstock.core.errors import ConfigError, StageTimeoutError
from penstock.core.extras import importing
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.spmd.interfaces import on_interface
from penstock.stages.training.cuml._estimators import Entry
from penstock.stages.training.sklearn._fit import Rows

_TAKEN: Mapping[str, Mapping[str, Callable[[Any], object]]] = {
    "DBSCAN": {"algorithm": "brute".__eq__},
    "ElasticNet": {"solver": ("auto", "cd").__contains__},
    "KMeans": {"init": lambda init: not isinstance(init, str) or init != "k-means++", "oversampling_factor": bool},
    "Lasso": {"solver": ("auto", "cd").__contains__},
    "LinearRegression": {"algorithm": ("auto", "eig").__contains__},
    "LogisticRegression": {"class_weight": lambda weights: weights is None},
    "PCA": {},
    "RandomForestClassifier": {"class_weight": lambda weights: weights is None, "oob_score": not_},
    "RandomForestRegressor": {"oob_score": not_},
    "Ridge": {"solver": ("auto", "eig").__contains__, "alpha": np.isscalar},
    "TruncatedSVD": {},
}
"""Estimators that several GPUs fit, and the values of parameters that these take: others they refuse or pass over."""
_TWO_FEATURES = {"LinearRegression", "PCA", "Ridge"}
"""Those that several GPUs fit to two features or more."""


def why_alone(estimator: Any, entry: Entry, features: int, *, weighted: bool) -> str | None:
    """Return why one GPU has to fit an estimator, None where several can.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from penstock.stages.training.cuml._estimators import entries
    >>> why_alone(Ridge(solver="svd"), entries()["Ridge"], 3, weighted=False)
    "several take no solver='svd' of Ridge"
    >>> why_alone(Ridge(solver="auto"), entries()["Ridge"], 3, weighted=False)
    """
    name = type(estimator).__name__
    if entry.several is None or name not in _TAKEN:
        return f"cuML has no {name} of several"
    if weighted and name != "KMeans":
        return f"several take no weights of {name}"
    given = estimator.get_params(deep=False)
    if features < max(2 * (name in _TWO_FEATURES), given.get("n_components") or 0):
        return f"several take no {features} feature(s) of {name}"
    refused = [each for each, takes in _TAKEN[name].items() if each in given and not takes(given[each])]
    return f"several take no {refused[0]}={given[refused[0]]!r:.100} of {name}" if refused else None


def check_gpus(rank: Rank, stage: str) -> None:
    """Raise an error, on every rank, unless NCCL can connect them: it would find out when it waits.

    Raises
    ------
    MissingExtraError
        raft-dask is not installed, by which cuML reaches NCCL.
    ConfigError
        Ranks share a GPU.
    """
    _raft(stage)
    device = devices.use(rank.kind)
    gpu, ranks = Counter(rank.gather(device.uuid or f"{device} of {rank.host}")).most_common(1)[0]
    if ranks > 1:
        raise ConfigError(
            f"{ranks} of {rank.size} ranks have one GPU, {gpu}: NCCL needs one for each",
            hint="Ask for as many ranks as there are GPUs (world_size), or give each worker its own: docs/gpu.md.",
            stage=stage,
        )


def _raft(stage: str | None = None) -> tuple[Any, Any, Any]:
    """Return what `cuml.dask` connects ranks with: the class of handles, what gives one a communicator, its class."""
    with importing("raft-dask", "gpu", stage):
        from pylibraft.common import Handle
        from raft_dask.common.comms_utils import inject_comms_on_handle_coll_only
        from raft_dask.common.nccl import nccl
    return Handle, inject_comms_on_handle_coll_only, nccl


@dataclass(frozen=True)
class Group:
    """The ranks that have rows, as cuML sees them: it takes none without.

    Attributes
    ----------
    handle : pylibraft.common.Handle
        With their communicator.
    place : int
        Of this rank among them.
    sizes : tuple of int
        How many rows each has.
    seed : int
        A number that was drawn, the same on each.
    """

    handle: Any
    place: int
    sizes: tuple[int, ...]
    seed: int

    def layout(self, rows: Rows) -> tuple[int, int, list[tuple[int, int]], int]:
        """Return how many rows and columns there are, where the rows are, and the place of this rank."""
        return sum(self.sizes), rows.x.shape[1], list(enumerate(self.sizes)), self.place


@contextmanager
def group(rank: Rank, sizes: Sequence[int], *, streams: int = 0) -> Iterator[Group | None]:
    """Connect the ranks that have rows while inside; every rank enters, and one without has None.

    Raises
    ------
    StageTimeoutError
        The others did not connect within the time that collective calls may take.
    """
    handle_of, inject, _ = _raft()
    members = [index for index, size in enumerate(sizes) if size]
    communicator, seed = _connect(rank, members)
    if communicator is None:
        yield None
        return
    place = members.index(rank.index)
    try:
        handle = handle_of(n_streams=streams)
        inject(handle, communicator, len(members), place, False)
        yield Group(handle, place, tuple(sizes[index] for index in members), seed)
    except RuntimeError:  # where another rank is lost RAFT aborts by itself, and who does it again frees memory twice
        raise
    except BaseException:
        communicator.abort()
        raise
    communicator.destroy()


def _connect(rank: Rank, members: Sequence[int]) -> tuple[Any | None, int]:
    """Return the communicator of this rank, None for one that is no member; and a number that all have."""
    nccl, first = _raft()[2], members[0]
    with on_interface(rank.host):
        drawn = (nccl.get_unique_id(), secrets.randbelow(2**31)) if rank.index == first else None
        shared, seed = rank.gather(drawn)[first]
        if rank.index not in members:
            return None, seed
        communicator = nccl()
        _within(rank, lambda: communicator.init(len(members), shared, members.index(rank.index)))
    return communicator, seed


def _within(rank: Rank, connect: Callable[[], None]) -> None:
    """Call what NCCL would wait in for ever, on a thread that is left behind where the others do not come."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            devices.use(rank.kind)  # which device is current belongs to a thread
            connect()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="penstock-nccl", daemon=True)
    thread.start()
    thread.join(rank.timeout)
    if thread.is_alive():
        raise StageTimeoutError(
            f"NCCL did not connect rank {rank.index} with the others within {rank.timeout:g} s",
            hint="See that machines reach each other on NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO tells more.",
        )
    if errors:
        raise errors[0]


def fit(estimator: Any, entry: Entry, together: Group | None, rows: Rows, classes: int) -> Any:
    """Fit an estimator on the rows of all ranks of a group, each of which calls it; return what is fitted in its place.

    What that has learned the estimator has too, with what only the class of one GPU sets. A rank that is of no group
    fits nothing, and has None.

    Parameters
    ----------
    classes : int
        How many there are of a label, also where this rank has not all; 0 where they are none.
    """
    if together is None:
        return None
    if entry.several == entry.name:
        return _fit_forest(estimator, together, rows, classes)
    model = _class_of(entry)(handle=together.handle, **_parameters(estimator, together))
    fit_model: Callable[..., None] = _FITS.get(type(estimator).__name__, _fit_labelled)
    fit_model(model, together, rows)
    learned = {name: value for name, value in vars(model).items() if name.endswith("_")}
    vars(estimator).update({"n_iter_": None, "n_samples_": sum(together.sizes), **learned})
    return model


def _class_of(entry: Entry) -> Any:
    module, _, name = f"cuml.{entry.several}".rpartition(".")
    return getattr(import_module(module), name)


def _parameters(estimator: Any, together: Group) -> dict[str, Any]:
    """Return what the class of several GPUs is made with; what is random is to be the same on all ranks."""
    given = {**estimator.get_params(deep=False), "output_type": "cupy"}
    if "selection" in given:  # of Lasso and ElasticNet, which their solver fits
        given.pop("solver", None)
        given |= {"l1_ratio": estimator.l1_ratio, "shuffle": given.pop("selection") == "random"}
    if given.get("random_state", 0) is None:
        given["random_state"] = together.seed
    return given


def _fit_forest(forest: Any, together: Group, rows: Rows, classes: int) -> Any:
    """Fit a forest, whose own class has every rank grow all trees on the rows of all."""
    names = {"_raft_handle": together.handle, "_distributed_n_rows": sum(together.sizes)}
    if classes:
        names["_distributed_classes"] = np.arange(classes, dtype=np.int32)
    vars(forest).update(names)
    return forest.fit(rows.x, rows.label)


def _fit_kmeans(model: Any, together: Group, rows: Rows) -> None:
    if sum(together.sizes) < model.n_clusters:
        raise ValueError(f"there are {sum(together.sizes)} rows for {model.n_clusters} clusters")
    for place, size in enumerate(together.sizes):  # every rank looks at all, so that none waits for one that refuses
        model.validate(range(size), place, len(together.sizes))
    model.fit([rows.x], sample_weight=None if rows.weight is None else [rows.weight])


def _fit_labelled(model: Any, together: Group, rows: Rows) -> None:
    model.fit([(rows.x, rows.label.astype(rows.x.dtype))], *together.layout(rows))  # type: ignore[union-attr]


def _fit_decomposition(model: Any, together: Group, rows: Rows) -> None:
    transform = (True,) if "SVD" in type(model).__name__ else ()  # in which its variances are found
    model.fit([rows.x], *together.layout(rows), *transform)


_FITS: Mapping[str, Callable[[Any, Group, Rows], None]] = {
    "KMeans": _fit_kmeans,
    "PCA": _fit_decomposition,
    "TruncatedSVD": _fit_decomposition,
}


def totals(rank: Rank, estimator: Any, model: Any | None) -> dict[str, Any]:
    """Return of all rows what cuML tells each rank of its own: of a KMeans, its cost and sizes; every rank calls it."""
    if type(estimator).__name__ != "KMeans":
        return {}
    own = np.zeros(estimator.n_clusters + 1)
    if model is not None:
        own[0] = model.inertia_
        own[1:] = np.bincount(matrices.to_host(model.labels_), minlength=estimator.n_clusters)
    cost, *sizes = rank.allreduce(own).tolist()
    return {"cost": cost, "sizes": [int(size) for size in sizes]}


def labels(estimator: Any, entry: Entry, rank: Rank, x: Any) -> Any:
    """Return the labels that a DBSCAN gives to rows which every rank has; those of rank 0 are complete."""
    if len(x) < rank.size**2:  # a rank would have none to look at, for which cuML is not made
        return estimator.fit_predict(x)
    given = {**estimator.get_params(deep=False), "output_type": "cupy", "calc_core_sample_indices": False}
    with group(rank, [len(x)] * rank.size) as together:
        return _class_of(entry)(handle=together.handle, **given).fit(x, out_dtype="int32").labels_  # type: ignore[union-attr]
