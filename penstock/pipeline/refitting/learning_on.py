"""The methods of a model that learn on: from new rows, and from other models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from penstock.pipeline.cardinality import CountOptions
from penstock.spmd import SpmdOptions

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.pipeline.model import PipelineModel


class LearningOn:
    """A part of `PipelineModel`, which keeps statistics."""

    @property
    def _model(self) -> PipelineModel:
        return cast("PipelineModel", self)

    def refit(
        self,
        dataset: Dataset,
        *,
        freeze: str | Sequence[str] = (),
        fresh: bool = False,
        warm_start: bool | str | Sequence[str] = False,
        validation: Dataset | None = None,
        options: SpmdOptions | None = None,
        counting: CountOptions | None = None,
    ) -> PipelineModel:
        """Learn on: return the model of the rows that this one has learned from and of `dataset`, which alone is read.

        What it learns is what a fit on all rows learns: to the bit where statistics are counts, extremes and the like,
        and to about 1e-12 where they are sums of floating numbers, which are added in another order. Quantiles are
        those of merged sketches. The new rows come after the old ones.

        Parameters
        ----------
        dataset : Dataset
            New rows, labels included where stages learn from them; none at all are fine.
        freeze : str or sequence of str
            Names of stages that keep what they have learned. What another stage learns behind one is of the values that
            this one made: where it learned anew, the old rows would have to be made again, so it has to be frozen. So
            have trainers, which need all rows, unless they start warm.
        fresh : bool, default=False
            Forget the rows before: what is not frozen is learned from `dataset` alone, trainers too. So a day has
            statistics of its own, behind stages that are the same for all days.
        warm_start : bool, str or sequence of str, default=False
            Names of trainers that begin where they were and are trained on `dataset` alone; True for all that can. What
            they learn is no fit on all rows: what the old rows said is in where they begin, and nowhere else. Stages
            that make their features have to be frozen, or to append (``StringIndexer(order="append")``).
        validation : Dataset, optional
            Rows that trainers watch for early stopping.
        options : SpmdOptions, optional
        counting : CountOptions, optional
            As for `Pipeline.fit`.

        Returns
        -------
        PipelineModel
            It keeps the statistics of all rows, but for those of frozen stages, which stay frozen from then on.

        Raises
        ------
        ConfigError
            Before anything is read: the model keeps no statistics, a stage would need the old rows again (names each,
            with what it learns from, and what to freeze), one was frozen before, or a trainer would go on from features
            that are learned anew.
        EmptyInputError
            There is no row for a trainer that starts warm.
        DataValueError
            Such a trainer finds a class that it has not learned.
        SchemaDriftError
            A column that stages learn from is missing, or of another type.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> engine = ps.LocalEngine(device="cpu")
        >>> monday, tuesday = (engine.from_arrow(pa.table({"x": values})) for values in ([1.0, None], [2.0, 6.0]))
        >>> model = ps.Pipeline(st.Imputer("x")).fit(monday, keep_statistics=True)
        >>> model.refit(tuesday).fitted[0]["values"]["x"]
        3.0
        """
        from penstock.pipeline.refitting.refit import refit

        return refit(
            self._model,
            dataset,
            freeze,
            fresh=fresh,
            warm_start=warm_start,
            validation=validation,
            options=options,
            counting=counting,
        )

    def merge(self, *others: PipelineModel) -> PipelineModel:
        """Return the model of the rows of this one and of `others`, in this order, without reading any.

        States are merged one after the other, as `refit` merges them: a chain of refits and a merge of the same days in
        the same order learn the same, to the bit.

        Raises
        ------
        ConfigError
            A model keeps no statistics, or is of other stages or columns; stages learn from what others have learned,
            see `refit`; or a stage that was frozen has not learned the same in all.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> engine, pipeline = ps.LocalEngine(device="cpu"), ps.Pipeline(st.MinMaxScaler("x"))
        >>> days = [engine.from_arrow(pa.table({"x": values})) for values in ([1.0, 4.0], [2.0, 9.0])]
        >>> monday, tuesday = (pipeline.fit(day, keep_statistics=True) for day in days)
        >>> monday.merge(tuesday).digest == pipeline.fit(days[0].union(days[1])).digest
        True
        """
        from penstock.pipeline.refitting.refit import merge

        return merge([self._model, *others])
