"""An estimator as a trainer that keeps what the estimator says of its rows, and nothing for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.selectors import Columns
from penstock.dataset.beside import NUMBER
from penstock.frames import Kind, matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags
from penstock.stages.parameter_checks import in_range
from penstock.stages.trainer import Trainer
from penstock.stages.training.cuml import _several as several
from penstock.stages.training.cuml._estimators import describe_as, known_entry
from penstock.stages.training.sklearn import _fit as fit
from penstock.stages.training.sklearn._kinds import METHODS, Described, copied, describe, is_cuml
from penstock.stages.training.sklearn._score import check_finite, to_series
from penstock.statistics import Checks, RowCount, Statistic

RESULT = "v0"
RESULTS = {"fit_predict": pa.int32(), "fit_transform": pa.list_(pa.float64())}
"""The type of what each method says of a row."""


@dataclass(frozen=True, eq=False)
class _TransductiveEstimator(Trainer):
    """Has an estimator say something of the rows that it is fitted on, on one rank; a DBSCAN of cuML on several GPUs.

    Learned are ``results``, a table of ``row`` (its number, int64) and ``v0``; and ``warnings``. `transform` has
    nothing to do: values are found by the numbers of rows.

    Parameters
    ----------
    estimator : estimator
        As `copy_of` takes it.
    method : {"fit_predict", "fit_transform"}
        What is called, and what errors call the stage.
    features : str, sequence of str, or Selector, optional
        All numeric columns, unless given.
    memory_limit : int, optional
    """

    estimator: Any
    method: str
    _: KW_ONLY
    features: Columns | None = None
    memory_limit: int | None = field(default=None, metadata=in_range(least=1, whole=True))

    tags: ClassVar[Tags] = Tags(accepts="numeric", single_rank=True, vectors=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "estimator", copy_of(self.estimator, self.method)[0])
        if self._is_shared:
            object.__setattr__(self, "tags", replace(self.tags, single_rank=False))

    @property
    def _is_shared(self) -> bool:
        """Whether the ranks, each with all rows and a GPU, divide the work among them: that of a DBSCAN of cuML."""
        if not is_cuml(self.estimator) or type(self.estimator).__name__ != "DBSCAN":
            return False
        entry = known_entry(self.estimator, self.title)
        return several.why_alone(self.estimator, entry, 1, weighted=False) is None

    @cached_property
    def _described(self) -> Described:
        return copy_of(self.estimator, self.method)[1]

    @property
    def title(self) -> str:
        return self.method

    @property
    def rounds(self) -> int:
        return 1

    @property
    def results(self) -> pa.Schema:
        """The columns of ``results``."""
        return pa.schema({NUMBER: pa.int64(), RESULT: RESULTS[self.method]})

    def check_device(self, kind: Kind) -> None:
        """Raise ConfigError for an estimator of cuML where partitions are on a CPU."""
        if is_cuml(self.estimator) and kind != "gpu":
            hint = "Use an engine with device='gpu', on a machine that has one; without a GPU take scikit-learn's own."
            raise ConfigError("cuML needs a GPU to fit, and partitions are on a CPU", hint=hint, stage=self.title)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what is wrong with values, and how many rows there are."""
        found = fit.rules(schema, labels=(), weight=None, features=self.inputs(), classifies=False)
        return {"checks": Checks(tuple(found)), "rows": RowCount()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        known = {"rows": results["rows"], "allow_nan": self._described.allow_nan}
        results["checks"].refuse(partial(fit.value_error, features=self.inputs(), **known))
        return {"rows": results["rows"]}

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        from sklearn.base import clone

        on_gpu = is_cuml(self.estimator)
        convert = fit.ToRows(self.inputs(), (), None, None, "float32" if on_gpu else "float64", on_gpu)
        estimator = clone(self.estimator)
        called = getattr(estimator, self.method)
        if rank.size > 1:  # all label the rows, and the labels of rank 0 are complete
            several.check_gpus(rank, self.title)
            called = partial(several.labels, estimator, known_entry(estimator, self.title), rank)
        rows, numbers = fit.read_numbered(rank.with_all_rows(), convert, learned["rows"], self.memory_limit)
        with fit.values_refused(self._described.text[:200], self.inputs()):
            values, warned = fit.call(partial(called, rows.x), rank.threads)
            if rank.index:
                return {}
            results = self._table(numbers, _on_host(values), rows.x)
        rank.report(1, "; ".join(warned[:3]))
        return {"results": results, "warnings": warned}

    def _table(self, numbers: np.ndarray, values: np.ndarray, x: Any) -> pa.Table:
        self._check_results(values, x)
        frame = frames.from_arrow(pa.table({NUMBER: numbers}))
        column = to_series(frame, RESULT, values, np.ones(len(numbers), dtype=bool))
        return frames.to_arrow(frame.with_columns(column), self.results)

    def _check_results(self, values: np.ndarray, x: Any) -> None:
        """Raise an error for what are no results of rows; NaN may be in that of a row with a missing value."""
        dimensions, kinds = (1, "iu") if self.method == "fit_predict" else (2, "biuf")
        text = f"{self._described.text:.200}"
        if values.ndim != dimensions or len(values) != len(x) or values.dtype.kind not in kinds:
            expected = f"{'an integer' if dimensions == 1 else 'numbers'} for each of {len(x)} rows"
            given = f"{values.dtype} of shape {values.shape}"
            raise ConfigError(f"{self.method} of {text} gives {given}, expected {expected}", stage=self.title)
        if not np.isfinite(values).all():
            check_finite({self.method: values}, matrices.to_host(x), text, self.inputs())

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        return frame


def _on_host(values: Any) -> np.ndarray:
    """Return what an estimator gives as NumPy: sparse matrices, tables, and arrays of CuPy too."""
    for method in ("toarray", "to_numpy", "get"):
        if not isinstance(values, np.ndarray) and hasattr(values, method):
            values = getattr(values, method)()
    return np.asarray(values)


FIT_METHODS = {"fit_predict": "labels", "fit_transform": "embeds"}
"""The methods, and what each does to the rows that an estimator is fitted on."""


def copy_of(estimator: Any, method: str) -> tuple[Any, Described]:
    """Return an unfitted copy of an estimator that has `method`, and what it can do.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed.
    ConfigError
        It is no estimator, a class say; it has no such method; or it learns from a label.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> copy_of(DBSCAN(eps=2.0), "fit_predict")[1]
    DBSCAN(eps=2.0)
    """
    copy = copied(estimator)
    if is_cuml(copy):
        described: Described = describe_as(known_entry(copy, method), " ".join(repr(copy).split()))
    else:
        described = describe(copy)
    _check(copy, described, method)
    return copy, described


def _check(estimator: Any, described: Described, method: str) -> None:
    name, stage = f"{described.text:.200}", "CumlEstimator" if is_cuml(estimator) else "SklearnEstimator"
    scores = f"{stage} scores with it the rows that it is fitted on, and new ones."
    if described.needs_label:
        raise ConfigError(f"{name} learns from a label, and {method} has none", hint=scores, stage=method)
    has = [each for each in (*METHODS, *FIT_METHODS) if hasattr(estimator, each)]
    if method in has:
        return
    hints = [f"It has: {', '.join(has)}." if has else "It has no method that says something of rows."]
    hints += [scores] * bool(described.methods) + [f"ps.{each} calls that." for each in FIT_METHODS if each in has]
    raise ConfigError(
        f"{name} has no {method}, which {FIT_METHODS[method]} the rows that it is fitted on",
        hint=" ".join(hints),
        stage=method,
    )
