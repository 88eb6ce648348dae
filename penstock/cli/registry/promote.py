"""A challenger against the champion of a registry, on the same rows."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.artefact.registry.document import ModelVersion, Promotion
from penstock.artefact.registry.reference import ModelReference, require_alias
from penstock.artefact.registry.registry import ModelRegistry, locate, now
from penstock.artefact.registry.saved_model import SavedModel
from penstock.cli.job_setup import Clock, JobSetup, read_data, settings_of_engine
from penstock.cli.recording import recorded
from penstock.cli.registry.requests import PromoteRequest
from penstock.cli.registry.results import PromoteResult
from penstock.core.errors import ArtifactIntegrityError, CommitConflictError, ConfigError, DataValueError
from penstock.core.progress import Progress
from penstock.core.redaction import redact
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.io.sinks import new_run_id
from penstock.pipeline.model import PipelineModel
from penstock.search.validation import LeadingMetric
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import evaluate_each

_ATTEMPTS = 5


@recorded
def promote(request: PromoteRequest, progress: Progress | None = None) -> PromoteResult:
    """Evaluate a challenger and the champion on the same rows, and promote the challenger if it is better.

    Without a champion the challenger becomes the first. Of runs that promote at once, each is compared with the
    champion that it replaces: one that has changed meanwhile is compared with anew.

    Raises
    ------
    ConfigError
        The champion is no alias, or nothing reports the metric.
    DataValueError
        The metric is not defined on these rows, or the two models leave different rows out.
    CommitConflictError
        The champion changes faster than it can be compared with.
    InputError, ExecutionError, OutputError, ArtifactError
        As reading, evaluating and writing say. Whatever is raised, the champion is what it was.
    """
    clock, contest = Clock(), _Contest.of(request)
    with contest.start(progress) as engine:
        decision = contest.settled() or contest.decide(engine)
    promotion = decision.promotion
    return PromoteResult(
        model=request.challenger,
        digest=contest.model.digest,
        promoted=decision.promoted,
        reason=decision.reason(contest.metric),
        champion=request.champion,
        **{name: getattr(promotion, name) for name in ("replaced", "gain", "metrics", "run_id")},
        manifest=decision.manifest,
        metric=contest.metric.name,
        is_larger_better=contest.metric.is_larger_better,
        min_gain=request.min_gain,
        champion_metrics=promotion.replaced_metrics,
        rows=promotion.rows or 0,
        **clock.fields(engine),
    )


@dataclass(frozen=True)
class _Decision:
    """What is, or would be, recorded, and whether it is."""

    promotion: Promotion
    promoted: bool
    manifest: str | None

    def reason(self, metric: LeadingMetric) -> str:
        promotion = self.promotion
        if promotion.gain is None:
            return "there was no champion"
        if promotion.version == promotion.replaced:
            return "it is the champion already"
        of_both = f"{metric.name} is {promotion.metrics[metric.name]:.6g}"
        of_both += f", of the champion {promotion.replaced_metrics[metric.name]:.6g}"
        than = "at least" if self.promoted else "less than"
        return f"{of_both}: a gain of {promotion.gain:.6g}, {than} {promotion.min_gain:.6g}"


@dataclass(frozen=True)
class _Contest:
    """The challenger, what it is measured by, and the alias that it is to get."""

    request: PromoteRequest
    alias: ModelReference
    registry: ModelRegistry
    setup: JobSetup | None
    saved: SavedModel
    model: PipelineModel
    evaluators: Evaluators
    metric: LeadingMetric
    run_id: str

    @classmethod
    def of(cls, request: PromoteRequest) -> _Contest:
        """Return what a request names, so far as it can be checked before anything is read."""
        alias = require_alias(request.champion)
        setup = None if request.pipeline is None else JobSetup.of(request, request.pipeline)
        if setup and setup.settings.stages.values:
            setup.pipeline()  # the model has its own, but a wrong name is refused here too
        located = locate(request.challenger)
        saved, place = SavedModel.read(located), located.location
        model = PipelineModel.load(place, expect=request.expect, stages=setup.module.stages if setup else {})
        if saved.digest != model.digest:
            raise ArtifactIntegrityError(f"{place} has changed while it was read", hint="Run again.", path=place)
        evaluators = setup.evaluators() if setup else model.evaluators
        if not evaluators:
            hint = "Name its pipeline: --pipeline PIPELINE."
            raise ConfigError(f"{request.challenger} has no evaluators, so nothing reports {request.metric}", hint=hint)
        metric = LeadingMetric.of(evaluators, request.metric)
        registry = ModelRegistry(alias.registry)
        run_id = request.run_id or new_run_id()
        return cls(request, alias, registry, setup, saved, model, evaluators, metric, run_id)

    def start(self, progress: Progress | None) -> Engine:
        """Return the engine, to be entered."""
        request = self.request
        settings = self.setup.engine if self.setup else settings_of_engine(request)
        return settings.start(progress)

    def settled(self) -> _Decision | None:
        """Return what an earlier try of this run has decided; None if there was none that promoted this model."""
        document = self.registry.read()
        for promotion in document.aliases.get(self.alias.name, ()):
            if (promotion.run_id, promotion.version) == (self.run_id, self.model.digest):
                return _Decision(promotion, True, document.versions[promotion.version].manifest)
        return None

    def decide(self, engine: Engine) -> _Decision:
        """Compare, and promote, until the champion that was compared with is the one that is replaced."""
        rows, attempt = self._rows(engine), 1
        while True:
            champion = self._champion()
            try:
                return self._decide_against(champion, rows)
            except CommitConflictError:
                if attempt == _ATTEMPTS or self._champion() == champion:
                    raise
            attempt += 1

    def _decide_against(self, champion: ModelVersion | None, rows: Dataset) -> _Decision:
        promotion = self._compare(rows, champion)
        is_new = champion is None or champion.version != promotion.version
        if not is_new or (promotion.gain is not None and promotion.gain < self.request.min_gain):
            return _Decision(promotion, False, champion.manifest if champion else None)
        self.registry.promote(self.saved, self.alias.name, promotion)
        return _Decision(promotion, True, self.registry.find(promotion.version).manifest)

    def _champion(self) -> ModelVersion | None:
        document = self.registry.read()
        current = document.current(self.alias.name)
        return None if current is None else document.versions[current.version]

    def _rows(self, engine: Engine) -> Dataset:
        if self.setup is not None:
            return self.setup.labelled(self.request, engine)
        return read_data(self.request, engine, self.model.schema)

    def _compare(self, rows: Dataset, champion: ModelVersion | None) -> Promotion:
        models = [self.model] if champion is None else [self.model, self._load(champion)]
        measured = evaluate_each([model.transform(rows) for model in models], self.evaluators)
        counts = [log.kept for _, log in measured]
        if len(set(counts)) > 1:
            raise DataValueError(
                f"the challenger is evaluated on {counts[0]:,} rows, and the champion on {counts[1]:,}:"
                " they leave different rows out, and cannot be compared",
                hint="Leave out bad rows before: in prepare of the pipeline, or in the job that writes the data.",
            )
        values = [self._value(metrics) for metrics, _ in measured]
        sign = 1 if self.metric.is_larger_better else -1
        return Promotion(
            version=self.model.digest,
            since_utc=now(),
            run_id=self.run_id,
            replaced=champion.version if champion else None,
            metric=self.metric.name,
            gain=sign * (values[0] - values[1]) if champion else None,
            min_gain=self.request.min_gain,
            metrics=dict(measured[0][0]),
            replaced_metrics=dict(measured[1][0]) if champion else {},
            data=tuple(redact(each) for each in self.request.data),
            rows=counts[0],
        )

    def _load(self, champion: ModelVersion) -> PipelineModel:
        stages = self.setup.module.stages if self.setup else {}
        return PipelineModel.load(f"{self.alias.registry}@{champion.version}", stages=stages)

    def _value(self, metrics: Evaluation) -> float:
        value = metrics[self.metric.name]
        if value is None:
            why = metrics.reasons.get(self.metric.name, "no reason given")
            raise DataValueError(f"{self.metric.name} is undefined on these rows: {why}", hint="Name others by --data.")
        return float(value)
