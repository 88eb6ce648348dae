"""What a search will do, in words, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.explanation import Explanation
from penstock.core.redaction import presentable
from penstock.core.sizes import show_bytes
from penstock.dataset.dataset import Dataset
from penstock.pipeline.fusion import Pass
from penstock.pipeline.plan import Plan
from penstock.search.joint_scan import JointScan
from penstock.search.lanes import Lane, waiting
from penstock.search.run import SearchRun
from penstock.search.trainings import is_small, training_bytes
from penstock.search.trials import plan_trials, start_lanes


def explain_search(run: SearchRun) -> Explanation:
    """Return the plan of a search, of its first batch in detail."""
    study, folds = run.start(None), run.folds
    batch = study.ask()
    pipelines, _ = run.pipelines(batch)
    plans, refused = plan_trials(
        pipelines, folds.dataset, run.evaluators, run.options, run.parallelism, refit=run.refit
    )
    if refused and not plans:
        raise next(iter(refused.values()))
    engine, rows = folds.dataset.engine, sum(fragment.rows for fragment in folds.dataset.fragments)
    scans = max(plan.scans for plan in plans.values())
    lines = [
        f"Search on {engine.name}, {engine.kind}: {study.n_trials} trial(s) on {len(folds)} fold(s) of {rows:,} rows,"
        f" by {run.leading.name}, {'larger' if run.leading.is_larger_better else 'smaller'} is better",
        f"first batch: {len(batch)} trial(s), {scans} scan(s) to fit all of them, 1 to evaluate",
        *_sharing(start_lanes(plans, folds, run.options), folds.dealt),
        *_trainings(plans, folds.dataset, len(folds), run.parallelism),
    ]
    lines += [f"trial {number} fails: {error.message}" for number, error in refused.items()]
    lines += [
        f"then 1 fit of the best on all rows, {max(plan.scans for plan in plans.values())} scan(s) at most"
    ] * run.refit
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
