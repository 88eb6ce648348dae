"""The plan is kept: as many scans as are explained, of no more columns than are needed."""

from __future__ import annotations

from penstock.engines.base import Engine
from penstock.pipeline.pipeline import Pipeline
from penstock.stages.base import Stage
from penstock.testing import tables
from penstock.testing.cases import read_by, trains
from penstock.testing.compare import demand, demand_equal
from penstock.testing.datasets import cut, restricted
from penstock.testing.trials import by_id, counted, scattered, whole


def check_scans_are_as_planned(stage: Stage, engine: Engine) -> None:
    """Check that the engine is asked for as many scans as are planned and reported; one at most, for one stage.

    Nor are rows read where no engine is asked: a trainer's ranks read them once. What is read in other processes is not
    counted.
    """
    trial = scattered(stage, engine, "ordinary")
    model, _ = trial.done()
    planned = Pipeline(stage).plan(cut(engine, tables.ordinary())).scans
    assert model.report is not None
    counts = (trial.scans, model.report.scans)
    demand(counts == (planned, planned), f"{counts[0]} scans were made and {counts[1]} reported, planned are {planned}")
    if engine.in_process:
        expected = planned + trains(stage)
        demand(trial.reads == expected, f"rows were read {trial.reads} times, expected {expected}: once to train")
    demand(planned <= 1, f"{planned} scans for {stage.title} alone: all of its statistics can be gathered in one")


def check_explaining_reads_nothing(stage: Stage, engine: Engine) -> None:
    """Check that explaining a plan asks for no scan, and that its words name a stage that learns."""
    with counted(engine) as scans:
        dataset = restricted(cut(engine, tables.ordinary()), ())
        text = Pipeline(stage).explain(dataset)
    demand(not scans, f"explaining made {len(scans)} scan(s)")
    learns = bool(stage.bind(dataset.schema).statistics(dataset.schema))
    demand(not learns or stage.title in text, f"the plan does not name {stage.title}:\n{text}")


def check_only_needed_columns_are_read(stage: Stage, engine: Engine) -> None:
    """Check that a fit reads the columns that the stage names, and making its outputs reads its inputs."""
    dataset = cut(engine, tables.ordinary())
    expected = whole(stage, engine, "ordinary").done()[1]
    model = Pipeline(stage).fit(restricted(dataset, read_by(stage)))
    wanted = [*model.stages[0].outputs(), "id"]
    scored = model.transform(restricted(dataset, [*model.stages[0].inputs(), "id"])).select(*wanted).to_arrow()
    demand_equal(by_id(scored), by_id(expected.select(wanted)), f"{stage.title} of only the columns that it needs")
