"""What an evaluator is: parameters, the statistics it needs, and what it makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.keywords import with_known_keywords
from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.stages.base import wrong_type
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.parameter_checks import check_declared
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


CONVERT = "Convert it before."
"""What to do about most columns of a type that an evaluator does not take."""


@dataclass(frozen=True)
class Evaluator(ABC):
    """Metrics of a scored dataset, computed from statistics; subclasses are frozen dataclasses: parameters only.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        The metrics wanted; all that the evaluator knows, unless given.

    Raises
    ------
    ConfigError
        A metric is not known, or none is asked for.
    """

    if not TYPE_CHECKING:  # who would take what it returns for Any
        __new__ = with_known_keywords

    metrics: tuple[str, ...] | None = field(default=None, kw_only=True)
    larger_better: ClassVar[Mapping[str, bool]]
    """Every metric it knows, in the order of reports, and whether a larger value is better."""

    def __post_init__(self) -> None:
        """Refuse metrics that are not known, and parameters of another type than is declared."""
        check_declared(self)
        asked: Any = self.metrics
        if asked is None:
            return
        names = (asked,) if isinstance(asked, str) else tuple(dict.fromkeys(asked))
        if not names:
            raise ConfigError(f"metrics of {self.title} is empty, expected some of {', '.join(self.larger_better)}")
        for name in names:
            self._check_metric(name)
        object.__setattr__(self, "metrics", names)

    @property
    def title(self) -> str:
        """What errors call it."""
        return type(self).__name__

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics that it reports."""
        return self.metrics or tuple(self.larger_better)

    def is_larger_better(self, metric: str) -> bool:
        """Return whether a larger value of `metric` is better; ConfigError when it is not known."""
        self._check_metric(metric)
        return self.larger_better[metric]

    @property
    @abstractmethod
    def weight(self) -> str | None:
        """The column of weights, if there is one: a field of every evaluator."""

    @property
    def _weights(self) -> tuple[str, ...]:
        """The column of weights as a tuple, empty where there is none."""
        return () if self.weight is None else (self.weight,)

    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Return the columns that it reads, in the order of its statistic."""

    def bind(self, schema: pa.Schema) -> Self:
        """Return the evaluator, checked against the columns to evaluate.

        Raises
        ------
        SchemaError
            A column is missing, or holds neither numbers nor booleans.
        """
        require(schema, self.columns(), stage=self.title)
        for name in self.columns():
            kind = schema.field(name).type
            if not is_numeric(kind):
                hint = "Convert it before; of a vector, take the element of the positive class."
                raise wrong_type(self.title, name, kind, "numbers and booleans", hint)
        return self

    @abstractmethod
    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the statistics it needs, by a name of its own."""

    def follow_up(self, schema: pa.Schema, results: Mapping[str, Any]) -> dict[str, Statistic]:
        """Return the statistics that need the first ones' results, gathered in a second scan; most need none."""
        return {}

    @abstractmethod
    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics in `names` from the finished statistics."""

    def reweighted(self, weight: str) -> Self:
        """Return the evaluator of a replicate of the bootstrap, whose rows weigh what column `weight` says."""
        return replace(self, weight=weight)  # type: ignore[call-arg]

    def evaluate(self, dataset: Dataset) -> Evaluation:
        """Return the metrics of a dataset that has predictions; see :func:`evaluate`."""
        from penstock.stages.evaluation.shared_scan import evaluate

        return evaluate(dataset, [self])

    def report(
        self,
        values: Mapping[str, float | None],
        reasons: Mapping[str, str | None],
        *,
        tables: Mapping[str, pa.Table] | None = None,
        bounds: Mapping[str, float] | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> Evaluation:
        """Return the metrics asked for, with a reason for each that is None."""
        asked = {name: values[name] for name in self.names}
        return Evaluation(
            asked,
            {name: reasons.get(name) or "" for name, value in asked.items() if value is None},
            tables=tables,
            bounds={name: bound for name, bound in (bounds or {}).items() if asked.get(name) is not None},
            larger_better={name: self.larger_better[name] for name in asked},
            labels={name: label for name, label in (labels or {}).items() if name in asked},
        )

    def _check_metric(self, name: str) -> None:
        check_one_of(f"metric of {self.title}", name, self.larger_better, stage=self.title)


Evaluators = Sequence[Evaluator] | Mapping[str, Evaluator]
"""Several evaluators; the names of a mapping stand before those of the metrics."""
