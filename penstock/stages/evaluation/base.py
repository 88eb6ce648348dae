"""What an evaluator is, and how several of them share one scan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa

from penstock.errors import ConfigError, DataValueError, SchemaError, did_you_mean
from penstock.schemas import require
from penstock.statistics.base import State, Statistic

if TYPE_CHECKING:
    from penstock.dataset import Dataset


class Evaluation(dict[str, float | None]):
    """Metric names to values; an undefined metric is None, and `reasons` says why.

    Parameters
    ----------
    values : mapping of str to float or None
    reasons : mapping of str to str, optional
        For each metric that is None.

    Examples
    --------
    >>> evaluation = Evaluation({"rmse": 0.5, "r2": None}, {"r2": "the labels do not vary"})
    >>> evaluation["rmse"], evaluation
    (0.5, {'rmse': 0.5, 'r2': None})
    >>> print(evaluation)
    rmse  0.5
    r2    undefined: the labels do not vary
    """

    def __init__(
        self, values: Mapping[str, float | None] | None = None, reasons: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(values or {})
        self.reasons: dict[str, str] = dict(reasons or {})

    def __str__(self) -> str:
        """Return one line a metric, aligned."""
        width = max((len(name) for name in self), default=0)
        return "\n".join(f"{name:<{width}}  {self._shown(name)}" for name in self)

    def _shown(self, name: str) -> str:
        value = self[name]
        return f"{value:.6g}" if value is not None else f"undefined: {self.reasons.get(name, 'no reason given')}"


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

    metrics: tuple[str, ...] | None = field(default=None, kw_only=True)
    larger_better: ClassVar[Mapping[str, bool]]
    """Every metric it knows, in the order of reports, and whether a larger value is better."""

    def __post_init__(self) -> None:
        """Refuse metrics that are not known."""
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
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise SchemaError(
                    f"column {name!r} is {kind}, but {self.title} takes numbers and booleans",
                    hint="Convert it before; of a vector, take the element of the positive class.",
                    column=name,
                    stage=self.title,
                )
        return self

    @abstractmethod
    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the statistics it needs, by a name of its own."""

    @abstractmethod
    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics in `names` from the finished statistics."""

    def _report(self, values: Mapping[str, float | None], reasons: Mapping[str, str | None]) -> Evaluation:
        """Return the metrics asked for, with a reason for each that is None."""
        asked = {name: values[name] for name in self.names}
        return Evaluation(asked, {name: reasons[name] or "" for name, value in asked.items() if value is None})

    def evaluate(self, dataset: Dataset) -> Evaluation:
        """Return the metrics of a dataset that has predictions, in one scan; see :func:`evaluate`."""
        return evaluate(dataset, [self])

    def _check_metric(self, name: str) -> None:
        if name not in self.larger_better:
            known = ", ".join(self.larger_better)
            raise ConfigError(
                f"metric {name!r} of {self.title} is not known, expected one of {known}."
                + did_you_mean(str(name), self.larger_better),
                stage=self.title,
            )


def evaluate(dataset: Dataset, evaluators: Sequence[Evaluator]) -> Evaluation:
    """Return the metrics of all evaluators from one scan that reads only their columns.

    Parameters
    ----------
    dataset : Dataset
        Scored: it has the labels and the predictions.
    evaluators : sequence of Evaluator
        Equal statistics of several evaluators are gathered once.

    Returns
    -------
    Evaluation
        Metrics in the order of the evaluators; without rows all are None, with reasons.

    Raises
    ------
    ConfigError
        No evaluator, or two that report metrics of one name.
    SchemaError
        A column is missing or of the wrong type; nothing was read.
    DataValueError
        A label, prediction or weight is null or outside its range; names column, count, first file and row.

    Examples
    --------
    >>> import penstock as ps
    >>> from penstock import stages as st
    >>> table = pa.table({"label": [0, 1, 1], "rawPrediction": [-1.0, 0.5, 2.0], "prediction": [0.0, 1.0, 1.0]})
    >>> scored = ps.LocalEngine(device="cpu").from_arrow(table)
    >>> evaluate(scored, [st.BinaryClassificationEvaluator(), st.RegressionEvaluator(metrics=["mae"])])
    {'areaUnderROC': 1.0, 'areaUnderPR': 1.0, 'mae': 0.0}
    """
    _refuse_overlap(evaluators)
    schema = dataset.schema
    wanted = [evaluator.bind(schema).statistics(schema) for evaluator in evaluators]
    unique = list(dict.fromkeys(statistic for of_one in wanted for statistic in of_one.values()))
    states, _ = dataset.gather(unique, label="evaluate")
    held = dict(zip(unique, states, strict=True))
    found = Evaluation()
    for evaluator, statistics in zip(evaluators, wanted, strict=True):
        results = {name: _result(dataset, evaluator, item, held[item]) for name, item in statistics.items()}
        made = evaluator.finish(results)
        found.update(made)
        found.reasons.update(made.reasons)
    return found


def _refuse_overlap(evaluators: Sequence[Evaluator]) -> None:
    if not evaluators:
        raise ConfigError("there is no evaluator", hint="Pass at least one, BinaryClassificationEvaluator() say.")
    owner: dict[str, Evaluator] = {}
    for evaluator in evaluators:
        for name in evaluator.names:
            if name in owner:
                raise ConfigError(
                    f"metric {name!r} is reported by {owner[name]} and by {evaluator}",
                    hint="Leave it out of one with metrics=(...), or evaluate them one after the other.",
                    stage=evaluator.title,
                )
            owner[name] = evaluator


def _result(dataset: Dataset, evaluator: Evaluator, statistic: Statistic, state: State) -> Any:
    """Finish a statistic; values that make it meaningless are looked up, in one more scan, to name file and row."""
    try:
        return statistic.finish(state)
    except DataValueError as error:
        place: dict[str, Any] = {"stage": evaluator.title}
        if error.predicate is not None and error.path is None:
            found = dataset.first_where(error.predicate, [error.column] if error.column else statistic.columns)
            place |= dict(zip(("path", "row"), found, strict=True)) if found else {}
        raise error.at(**place) from error
