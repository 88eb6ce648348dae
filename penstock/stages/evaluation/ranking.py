"""How well ranked lists put the relevant items first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from penstock.stages.evaluation.list_pairs import ListPairEvaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.statistics.base import Statistic
from penstock.statistics.evaluation.rankings import Ranking, Rankings, check_k

_MOST = 500


@dataclass(frozen=True)
class RankingEvaluator(ListPairEvaluator):
    """The five metrics of MLlib's evaluator of ranked lists, the mean reciprocal rank and the hit rate, with weights.

    Parameters
    ----------
    label : str, default "label"
        Lists of the relevant items, numbers or strings, in any order; no nulls. Repeats are ignored.
    prediction : str, default "prediction"
        Lists of items of the same kind, best first; no nulls.
    weight : str, optional
        Finite weights of 0 or more; without it every row weighs 1.
    k : int, default 10
        The cut-off of the metrics ``...AtK``, at least 1.
    metrics : sequence of str, optional
        Some of the seven; all unless given.

    Raises
    ------
    ConfigError
        `k` is below 1 or no integer.

    Notes
    -----
    The values are those of MLlib's evaluator. An item is relevant or not, there are no grades. ``precisionAtK`` is
    divided by k also where the list is shorter, ``meanAveragePrecision`` by the number of relevant items,
    ``meanAveragePrecisionAtK`` by k if that is less. ``meanReciprocalRank`` looks at the whole list, ``hitRateAtK``
    is the share of rows with a hit in the first k places. A row without relevant items counts as 0 in every metric. An
    item that is predicted twice hits twice, so that ``meanAveragePrecision`` and ``recallAtK`` may exceed 1. All are
    None, with a reason, when no row has weight, where MLlib gives 0.

    Tables: ``atK``, for k from 1 (thinned to 500 rows) the ``precision``, ``recall`` and ``ndcg``; ``documents``, the
    ``rows`` and their ``weight`` by ``hasLabels`` (rows of weight 0 left out), which tells how many count as 0 whatever
    is predicted.

    Examples
    --------
    >>> import penstock as ps
    >>> table = pa.table({"label": [["a", "b"], ["c"]], "prediction": [["a", "c", "b"], ["b", "c"]]})
    >>> evaluator = RankingEvaluator(k=2, metrics=["precisionAtK", "recallAtK", "meanReciprocalRank"])
    >>> evaluator.evaluate(ps.LocalEngine(device="cpu").from_arrow(table))
    {'precisionAtK': 0.5, 'recallAtK': 0.75, 'meanReciprocalRank': 0.75}
    """

    k: int = 10
    larger_better: ClassVar[Mapping[str, bool]] = {
        "meanAveragePrecision": True,
        "meanAveragePrecisionAtK": True,
        "precisionAtK": True,
        "ndcgAtK": True,
        "recallAtK": True,
        "meanReciprocalRank": True,
        "hitRateAtK": True,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_k(self.k, self.title)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the sums over rows and places."""
        return {"ranking": Rankings(self.columns(), self.k)}

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics, and the tables."""
        ranking = results["ranking"]
        values = {
            "meanAveragePrecision": ranking.mean_average_precision,
            "meanAveragePrecisionAtK": ranking.mean_average_precision_at_k,
            "precisionAtK": ranking.precision,
            "ndcgAtK": ranking.ndcg,
            "recallAtK": ranking.recall,
            "meanReciprocalRank": ranking.mean_reciprocal_rank,
            "hitRateAtK": ranking.hit_rate,
        }
        tables = {"atK": ranking.at_k(_MOST), "documents": _documents(ranking)}
        return self.report(values, dict.fromkeys(values, "no row has a positive weight"), tables=tables)


def _documents(ranking: Ranking) -> pa.Table:
    rows = [ranking.count - ranking.unlabelled, ranking.unlabelled]
    weights = [ranking.weight - ranking.unlabelled_weight, ranking.unlabelled_weight]
    return pa.table({"hasLabels": [True, False], "rows": rows, "weight": pa.array(weights, pa.float64())})
