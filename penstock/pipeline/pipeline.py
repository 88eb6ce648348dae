"""A pipeline: stages in order, fitted in as few scans as their dependencies allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.core.displayed import Displayed
from penstock.core.explanation import Explanation
from penstock.core.recording import step
from penstock.dataset.cast_as_fitted import cast_as_fitted
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.pipeline.cardinality import CountOptions
from penstock.pipeline.explain import explain, trained_on
from penstock.pipeline.fit import Fit
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.parameters import get_params, with_params
from penstock.pipeline.plan import Plan, plan
from penstock.pipeline.refitting.kept_statistics import StatisticsKeeper, notes_of
from penstock.spmd import SpmdOptions
from penstock.stages.base import Stage
from penstock.stages.names import split_names, stage_names


class Pipeline(Displayed):
    """Stages that are fitted together.

    Parameters
    ----------
    *stages : Stage, or pair of str and Stage
        In the order in which rows pass through them; a pair gives a stage a name: letters, digits, ``_`` and ``-``.

    Attributes
    ----------
    stages : tuple of Stage
    names : tuple of str
        By which parameters are addressed, see `with_params`: the name given, or the class, with a number where two
        stages without a name are of one class: ``StandardScaler-1``, ``StandardScaler-2``.

    Raises
    ------
    ConfigError
        One is no stage; a name is empty or has other characters, is given twice, or is the class of another stage.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, None, 3.0]}))
    >>> model = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(data)
    >>> model.transform(data).to_arrow()["x"].to_pylist()
    [-1.0, 0.0, 1.0]
    """

    _display = "penstock.report.notebook.pipelines:pipeline_html"

    def __init__(self, *stages: Stage | tuple[str, Stage]) -> None:
        self.stages, self._given = split_names(stages)
        self.names = stage_names(self.stages, self._given)

    def __repr__(self) -> str:
        titles = (stage.title for stage in self.stages)
        shown = [f"({name!r}, {title})" if name else title for name, title in zip(self._given, titles, strict=True)]
        return f"Pipeline({', '.join(shown)})"

    def get_params(self) -> dict[str, Any]:
        """Return the value of every parameter of every stage by ``stage.parameter``, in order.

        ``with_params(get_params())`` is the same pipeline.

        Examples
        --------
        >>> from penstock import stages as st
        >>> params = Pipeline(("log", st.Log1p("y")), st.Clip("x", lower=0)).get_params()
        >>> list(params)
        ['log.columns', 'log.output_columns', 'Clip.columns', 'Clip.output_columns', 'Clip.lower', 'Clip.upper']
        >>> params["Clip.lower"]
        0
        """
        return get_params(dict(zip(self.names, self.stages, strict=True)))

    def with_params(self, params: Mapping[str, Any]) -> Pipeline:
        """Return a pipeline with other parameters; this one stays as it is.

        Parameters
        ----------
        params : mapping of str to value
            By name, in any order:

            - ``stage.parameter``: a parameter of a stage, which is made anew and checked as when it was made first.
              Stages go by their `names`.
            - ``stage.parameter.key``: one value of a mapping, ``XGBoostClassifier.params.max_leaves``, or a parameter
              of an estimator, as scikit-learn's ``set_params`` names it: ``SklearnEstimator.estimator.svc__C``.
            - ``stage``: a stage to take its place, under its name if it has one; or None, to leave it out. Parameters
              that are given besides are those of the new one.

        Raises
        ------
        ConfigError
            A name is not known; the nearest one is shown. A parameter of a stage that is left out. A value is no stage,
            or none that the stage takes.

        Examples
        --------
        >>> from penstock import stages as st
        >>> pipeline = Pipeline(("scale", st.StandardScaler("x")), ("model", st.LinearRegression("y")))
        >>> pipeline.with_params({"scale.with_mean": False, "model.reg_param": 0.1}).stages[0].with_mean
        False
        >>> pipeline.with_params({"scale": None, "model": st.XGBoostRegressor("y"), "model.max_depth": 3})
        Pipeline(('model', XGBoostRegressor))
        """
        changed = with_params(dict(zip(self.names, self.stages, strict=True)), params)
        pairs = zip(self._given, changed.values(), strict=True)
        return Pipeline(*((name, stage) if name else stage for name, stage in pairs if stage is not None))

    def plan(self, dataset: Dataset) -> Plan:
        """Return what fitting to `dataset` will do; nothing is read."""
        check_dataset(dataset, "fit")
        return plan(self.stages, dataset.schema, names=self._given)

    def explain(self, dataset: Dataset, *, counting: CountOptions | None = None) -> Explanation:
        """Return the plan in words: scans, columns read, statistics gathered, how values are counted, and where.

        Nothing is read, but for a sample of columns that have more rows than a worker might count values of.
        """
        return explain(self.plan(dataset), dataset, counting or CountOptions())

    @step("fit")
    def fit(
        self,
        dataset: Dataset,
        *,
        validation: Dataset | None = None,
        options: SpmdOptions | None = None,
        counting: CountOptions | None = None,
        keep_statistics: bool = False,
        keep_profile: bool = False,
    ) -> PipelineModel:
        """Learn from `dataset`.

        Parameters
        ----------
        dataset : Dataset
        validation : Dataset, optional
            Rows that trainers watch for early stopping; they pass through the stages fitted before. No statistic is
            gathered from them.
        options : SpmdOptions, optional
            Ranks, timeouts, restarts and checkpoints of trainers.
        counting : CountOptions, optional
            The memory for counting the values of columns.
        keep_statistics : bool, default=False
            The model keeps what was gathered, as long as it lives and in its saved files, so that it can learn on:
            see `PipelineModel.refit`. Counts of values are kept whole, of rare ones too.
        keep_profile : bool, default=False
            The model keeps the distribution of its inputs and scores, so that it says whether later rows are like
            these: see `PipelineModel.with_profile`, which takes two more scans.

        Raises
        ------
        SchemaError, ConfigError
            Before anything is read: a stage does not fit the columns. Once a selector is fitted: it does not fit those
            that are left. Before a scan: the values to be counted do not fit the memory, see `CountOptions`.
        EmptyInputError, DataValueError
            The data has no rows, or values that make a stage meaningless; names column, count, first file and row.
        """
        planned = self.plan(dataset)
        if validation is not None:
            check_dataset(validation, "validation")
            validation = cast_as_fitted(validation, trained_on(planned), planned.schemas[0])
        keeper = StatisticsKeeper() if keep_statistics else None
        fit = Fit(planned, dataset, validation, options or SpmdOptions(), counting or CountOptions(), keeper=keeper)
        fitted = fit.run()
        kept = None if keeper is None else keeper.kept
        fit.report.notes += notes_of(kept) if kept else []
        model = PipelineModel(fit.plan.stages, fitted, planned.schemas[0], fit.report, self._given, statistics=kept)
        return model.with_profile(dataset) if keep_profile else model
