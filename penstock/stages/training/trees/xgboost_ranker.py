"""Learning to rank: XGBoost's trees put the rows of each group in order."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.stages.base import Fitted
from penstock.stages.training.trees._boosted import Boosted
from penstock.stages.training.trees._objectives import RANKING, ObjectiveTarget
from penstock.statistics.rules import Rule


@dataclass(frozen=True)
class XGBoostRanker(Boosted):
    """Boosted trees that order the rows of a group, the results of a query say, by relevance.

    Adds the float64 column ``prediction``, a score: of two rows of one group the more relevant one has the higher
    score. Scores of different groups are not comparable. The group is not needed to predict.

    Rows of a group may be anywhere in the files. Ranks show each other what they read, one fragment at a time, and each
    keeps the groups that a checksum of their value gives it, so that a group is whole on one rank whatever their
    number. The network carries all rows to all ranks once. A rank holds, as float32: the rows that it read, and twice,
    while they are sorted, those of its groups; hence its share of the data must fit in memory about three times, and a
    group must fit in the memory of a rank.

    Rows of equal score, as all are at first, stand in the order of the dataset when XGBoost looks for pairs among the
    highest; so the order of the rows of a group has a part in the model.

    Parameters
    ----------
    label : str
        Relevance, the more the better; no null, NaN or infinity. Integer numbers from 0 to 31 for ``rank:ndcg``, 0 or 1
        for ``rank:map``, 0 or more for ``rank:pairwise``.
    group : str
        Column of integers or strings that says which rows belong together; no null.
    objective : {"rank:ndcg", "rank:pairwise", "rank:map"}
        What is made better: NDCG (the default), the share of pairs in the right order, or mean average precision.
    weight : str, optional
        A group counts as the mean of the weights of its rows.

    Raises
    ------
    DataValueError
        Before training: a label that is null, infinite or not for the objective, or a null group.
    SchemaError
        The group is neither of integers nor of strings.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"query": [1, 1, 2, 2] * 20, "x": [0.0, 1.0] * 40, "relevance": [0, 1] * 40})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.XGBoostRanker("relevance", group="query", num_boost_round=5)).fit(data)
    >>> worse, better = model.transform(data).head(2)["prediction"]
    >>> worse < better
    True
    """

    _: KW_ONLY
    group: str

    _OBJECTIVES: ClassVar[tuple[str, ...]] = RANKING
    roles: ClassVar[tuple[str, ...]] = ("label", "weight", "group")

    @property
    def target(self) -> ObjectiveTarget:
        return ObjectiveTarget(self.label, {self.prediction: pa.float64(), **self._more}, self._objective)

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        kind = schema.field(self.group).type
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
            problem = f"group {self.group!r} is {kind}, expected integers or strings"
            raise SchemaError(problem, column=self.group, stage=self.title)
        return bound

    def _rules(self) -> list[tuple[str, Rule]]:
        return [*super()._rules(), (self.group, Rule("null"))]

    def _converter(self, learned: Fitted) -> Any:
        return replace(super()._converter(learned), objective=self._objective, group=self.group)
