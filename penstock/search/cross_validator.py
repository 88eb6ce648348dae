"""Search over the parameters of a pipeline: every trial is fitted and evaluated on folds, the best one refitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.explanation import Explanation
from penstock.core.redaction import presentable
from penstock.core.sizes import show_bytes
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.folds.folds import Folds
from penstock.pipeline.fusion import Pass
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.plan import Plan
from penstock.search.joint_scan import JointScan
from penstock.search.lanes import Lane, waiting
from penstock.search.run import SearchRun
from penstock.search.search_result import SearchResult
from penstock.search.spaces import grid
from penstock.search.study import Space
from penstock.search.trainings import is_small, training_bytes
from penstock.search.trials import plan_trials, start_lanes
from penstock.search.validation import LeadingMetric, as_folds, check_folds, train_and_validation
from penstock.spmd import SpmdOptions
from penstock.stages.evaluation.base import Evaluator, Evaluators
from penstock.stages.evaluation.shared_scan import as_evaluators


class CrossValidator:
    """Searches the parameters of a whole pipeline by cross-validation, without leaks.

    Every stage, not only the last, is fitted on the training rows of each fold. Trials and folds are fitted side by
    side: the statistics of all of them are gathered in one scan for each level of the pipeline, what several have in
    common once; a training set is the merge of the other folds. The numbers are those of a plain loop,
    ``pipeline.with_params(params).fit(fold.train).evaluate(fold.validation, evaluator)``, to the bit.

    Parameters
    ----------
    pipeline : Pipeline
    space : Space or mapping
        What `penstock.grid`, `penstock.random` and others give; a mapping, or a sequence of them, is a grid.
    evaluators : Evaluator, sequence of Evaluator, or mapping of str to Evaluator
    folds : int, mapping or Folds, default 5
        How many, dealt by row number; or the parameters of `Dataset.folds`, ``{"num_folds": 5, "stratify": "label"}``;
        or the folds of the dataset that `fit` is given.
    metric : str, optional
        The metric that trials are compared by; the first that the evaluators report unless given.
    study : str, path or URL, optional
        Where the search is kept, so that it goes on after it was ended: trials that are done are not run again. A
        file, a database, or one object of a store.
    storage_options : mapping, optional
        Passed to fsspec for a study in a store; never shown in a message.
    refit : bool, default True
        Fit the best parameters on all rows.
    on_error : {"continue", "raise"}, default "continue"
        Whether a trial that fails ends the search.
    parallelism : int, optional
        How many trainings run at the same time, each as one rank on a worker; 1 for one after the other, each over all
        ranks. Unless given it follows from the sizes: as many as a cluster runs tasks where the rows of each take no
        more than a quarter of a task's memory; one, on all cores, on the local engine.
    options : SpmdOptions, optional
        Of the trainings.

    Raises
    ------
    ConfigError
        The space is empty, or the pipeline does not take what it has; no evaluator has the metric; another parameter
        is none of those named.

    Notes
    -----
    A trainer with ``early_stopping_rounds`` watches the rows of its fold that it is evaluated on, which makes it look
    a little better than it is; it is refitted for the number of rounds that it kept on average.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
    >>> pipeline = ps.Pipeline(("scale", st.StandardScaler("x")), ("model", st.LinearRegression("y")))
    >>> evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    >>> result = ps.CrossValidator(pipeline, {"model.reg_param": [0.0, 10.0]}, evaluator, folds=3).fit(data)
    >>> result.best_params, round(result.best_score, 3)
    ({'model.reg_param': 0.0}, 0.861)
    """

    def __init__(
        self,
        pipeline: Pipeline,
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        evaluators: Evaluator | Evaluators,
        *,
        folds: int | Mapping[str, Any] | Folds = 5,
        metric: str | None = None,
        study: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        refit: bool = True,
        on_error: str = "continue",
        parallelism: int | None = None,
        options: SpmdOptions | None = None,
    ) -> None:
        if not isinstance(pipeline, Pipeline):
            raise ConfigError(f"the pipeline is {pipeline!r:.100}, expected a Pipeline")
        self.pipeline = pipeline
        self.space: Space = grid(space) if isinstance(space, Mapping | list | tuple) else space  # type: ignore[assignment]
        self.evaluators = as_evaluators(evaluators)
        self.leading = LeadingMetric.of(self.evaluators, metric)
        check_one_of("on_error", on_error, ("continue", "raise"))
        self.on_error = on_error
        if parallelism is not None and parallelism < 1:
            raise ConfigError(f"parallelism is {parallelism}, expected at least 1")
        check_folds(folds)
        self.folds, self.study, self.storage_options, self.refit = folds, study, storage_options, refit
        self.parallelism, self.options = parallelism, options or SpmdOptions()
        self.space.check(pipeline)

    def fit(self, dataset: Dataset) -> SearchResult:
        """Run the trials, and refit the best.

        Raises
        ------
        SchemaError, ConfigError
            Before anything is read: the pipeline, an evaluator or the folds do not fit the columns. The study is of
            another search; names what differs.
        TuningError
            No trial came to a value of the metric; says why the first did not.
        KeyboardInterrupt
            The best so far is told to the progress; a search with a `study` goes on from there when it is run again.
        """
        return self._run(dataset, "fit").result()

    def explain(self, dataset: Dataset) -> Explanation:
        """Return in words what `fit` will do: trials, scans, what trials share, and how they are trained.

        No row is read, but where the folds go by a column. Of trials that are not known before others are done, those
        of the first batch are told.
        """
        return explain_search(self._run(dataset, "explain"))

    def _folds(self, dataset: Dataset) -> Folds:
        return as_folds(dataset, self.folds)

    def _run(self, dataset: Dataset, purpose: str) -> SearchRun:
        check_dataset(dataset, purpose)
        return SearchRun(self, self._folds(dataset))


class TrainValidationSplit(CrossValidator):
    """Searches as `CrossValidator` does, on one split of the rows: faster by the number of folds, and less certain.

    Parameters
    ----------
    pipeline, space, evaluators, metric, study, storage_options, refit, on_error, parallelism, options
        As of `CrossValidator`.
    train_ratio : float, default 0.75
        The share of rows to train on, between 0 and 1.
    seed : int, default 0
        Of the split, which is that of ``dataset.split([train_ratio, 1 - train_ratio], seed=seed, stratify=stratify)``.
    stratify : str, optional
        A column of classes, of which both sides have their shares.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
    >>> search = ps.TrainValidationSplit(
    ...     ps.Pipeline(st.LinearRegression("y")), {"LinearRegression.reg_param": [0.0, 10.0]},
    ...     st.RegressionEvaluator(label="y", metrics="rmse"), train_ratio=0.8,
    ... )
    >>> search.fit(data).best_params
    {'LinearRegression.reg_param': 0.0}
    """

    def __init__(
        self,
        pipeline: Pipeline,
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        evaluators: Evaluator | Evaluators,
        *,
        train_ratio: float = 0.75,
        seed: int = 0,
        stratify: str | None = None,
        metric: str | None = None,
        study: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        refit: bool = True,
        on_error: str = "continue",
        parallelism: int | None = None,
        options: SpmdOptions | None = None,
    ) -> None:
        super().__init__(
            pipeline, space, evaluators,
            metric=metric, study=study, storage_options=storage_options, refit=refit, on_error=on_error,
            parallelism=parallelism, options=options,
        )  # fmt: skip
        if not 0 < train_ratio < 1:
            raise ConfigError(f"train_ratio is {train_ratio}, expected a number between 0 and 1, such as 0.75")
        self.train_ratio, self.seed, self.stratify = train_ratio, seed, stratify

    def _folds(self, dataset: Dataset) -> Folds:
        return train_and_validation(dataset, self.train_ratio, self.seed, self.stratify)


def explain_search(run: SearchRun) -> Explanation:
    """Return the plan of a search, of its first batch in detail."""
    search, study, folds = run.search, run.start(None), run.folds
    batch = study.ask()
    pipelines, _ = run.pipelines(batch)
    plans, refused = plan_trials(
        pipelines, folds.dataset, search.evaluators, search.options, search.parallelism, refit=search.refit
    )
    if refused and not plans:
        raise next(iter(refused.values()))
    engine, rows = folds.dataset.engine, sum(fragment.rows for fragment in folds.dataset.fragments)
    scans = max(plan.scans for plan in plans.values())
    lines = [
        f"Search on {engine.name}, {engine.kind}: {study.n_trials} trial(s) on {len(folds)} fold(s) of {rows:,} rows,"
        f" by {search.leading.name}, {'larger' if search.leading.is_larger_better else 'smaller'} is better",
        f"first batch: {len(batch)} trial(s), {scans} scan(s) to fit all of them, 1 to evaluate",
        *_sharing(start_lanes(plans, folds, search.options), folds.dealt),
        *_trainings(plans, folds.dataset, len(folds), search.parallelism),
    ]
    lines += [f"trial {number} fails: {error.message}" for number, error in refused.items()]
    lines += [
        f"then 1 fit of the best on all rows, {max(plan.scans for plan in plans.values())} scan(s) at most"
    ] * search.refit
    return Explanation("\n".join(map(presentable, lines)))


def _sharing(lanes: Sequence[Lane], dealt: Dataset) -> list[str]:
    """Return how many statistics the first scan gathers for how many that are asked for."""
    scan, asked = JointScan(dealt), 0
    for lane in waiting(lanes, Pass):
        assert isinstance(lane.work, Pass)
        for request in lane.work.requests:
            scan.ask(lane.split.train, lane.ahead(request.position), request.statistic)
            asked += 1
    if not asked:
        return []
    return [f"  scan 1: {asked} statistics are asked for, {scan.places} are gathered; the others are equal, or merged"]


def _trainings(plans: Mapping[int, Plan], dataset: Dataset, folds: int, parallelism: int | None) -> list[str]:
    trainers = [(plan, trainer) for plan in plans.values() for trainer in plan.trainers.values()]
    if not trainers:
        return ["  no trainings: all is learned from statistics"]
    engine = dataset.engine
    largest = max(
        training_bytes(plan.schemas[plan.stages.index(trainer)], dataset, trainer.training_columns())
        for plan, trainer in trainers
    )
    side_by_side = parallelism or (engine.slots if is_small(largest, engine) else 1)
    way = f"{side_by_side} at the same time, a rank each" if side_by_side > 1 else "one after the other, on all ranks"
    return [
        f"  at most {len(trainers) * folds} training(s), {way}: each reads about {show_bytes(largest)}, and a task may"
        f" take {show_bytes(engine.task_memory)}; those on the same rows share what they read"
    ]
