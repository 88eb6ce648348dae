"""Modules spread over ranks: sharded or cut into a pipeline, they learn what one process learns."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from communicators import Wrapped, stricken
from spmd.rank_processes import GangEngine
from spmd.rank_threads import Notes, Threads, run

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError
from penstock.spmd import Communicator, Rank, SpmdOptions
from penstock.spmd.checkpoints import Checkpoint
from penstock.stages.base import Fitted

pytestmark = [
    pytest.mark.cpu("ranks are processes that share this machine, and one GPU is for one rank"),
    pytest.mark.thorough,
]

CATEGORIES = 3
EXACT = st.TorchRegressor(
    "y", features=("a", "b"), categories=("c",), weight="w", module="tabular", module_options={"hidden": [8, 8]},
    optimizer="sgd", momentum=0.9, learning_rate=0.05, schedule="cosine", batch_size=5, accumulate=2, clip_norm=0.5,
    epochs=4, early_stopping_rounds=3,
)  # fmt: skip
RESUMED = replace(
    EXACT, optimizer="adamw", momentum=0.0, module_options={"hidden": [8, 8], "dropout": 0.2}, weight_decay=0.1
)
STRATEGIES = ("fsdp", "pipeline")


def table(rows: int) -> pa.Table:
    draw = np.random.default_rng(3)
    x, c = draw.normal(size=(rows, 2)), draw.integers(0, CATEGORIES, rows)
    y = x[:, 0] - c + 0.1 * draw.normal(size=rows)
    return pa.table({"a": x[:, 0], "b": x[:, 1], "c": c, "y": y, "w": draw.integers(0, 4, rows) / 2})


def datasets(engine: Engine) -> dict[str, Dataset]:
    counts = {"train": 32, "validation": 13}
    return {name: engine.from_arrow(table(count), fragment_bytes=400) for name, count in counts.items()}


@dataclass(frozen=True)
class Course:
    """Results of one training; of one from the start its first checkpoint, and those of going on from there."""

    learned: Fitted
    checkpoint: Checkpoint | None = None
    resumed: Fitted | None = None


class Saving(Wrapped):
    """Keeps the checkpoints of a rank."""

    def __init__(self, communicator: Communicator) -> None:
        super().__init__(communicator)
        self.checkpoints: list[Checkpoint] = []

    def save(self, checkpoint: Checkpoint) -> None:
        self.checkpoints.append(checkpoint)


@dataclass(frozen=True)
class Trainings:
    """Trains several stages one after the other on the same ranks.

    Parameters
    ----------
    stages : mapping of str to TorchRegressor
        Those with "resumed" in their name go on from their own first checkpoint too.
    checkpoints : mapping of str to Checkpoint
        From where to go on in place of the start.
    """

    stages: Mapping[str, st.TorchRegressor]
    checkpoints: Mapping[str, Checkpoint]

    def __call__(self, rank: Rank) -> dict[str, Course]:
        return {name: self._course(rank, name) for name in self.stages}

    def _course(self, rank: Rank, name: str) -> Course:
        if name in self.checkpoints:
            return Course(self._train(rank, name, self.checkpoints[name]))
        saving = Saving(rank.communicator)
        rank = replace(rank, communicator=saving)
        learned = self._train(rank, name, None)
        first = rank.gather(saving.checkpoints[:1])[0][0]
        return Course(learned, first, self._train(rank, name, first) if "resumed" in name else None)

    def _train(self, rank: Rank, name: str, checkpoint: Checkpoint | None) -> Fitted:
        return self.stages[name].train(replace(rank, checkpoint=checkpoint), {"cardinalities": [CATEGORIES + 1]})


def trained(engine: Engine, size: int, stages: Mapping[str, Any], checkpoints: Mapping[str, Checkpoint]) -> Any:
    options = SpmdOptions(world_size=size, checkpoint_interval=2, timeout=60, max_restarts=0)
    given = datasets(engine)
    bound = {name: stage.bind(given["train"].schema) for name, stage in stages.items()}
    return engine.spmd(Trainings(bound, checkpoints), given, options, label="train")


@functools.cache
def together(size: int) -> dict[str, Course]:
    """Return what ranks learn together; they are started once for all tests."""
    stages = {f"{name} exact": replace(EXACT, strategy=name) for name in STRATEGIES}
    checkpoints: dict[str, Checkpoint] = {}
    if size == 2:
        stages |= {f"{name} resumed": replace(RESUMED, strategy=name) for name in STRATEGIES}
        for name in ("ddp", "fsdp"):
            stages[f"{name} float16"] = replace(EXACT, strategy=name, precision="float16")
        stages["pipeline bfloat16"] = replace(EXACT, strategy="pipeline", precision="bfloat16", microbatches=3)
        checkpoints = of_others()
        stages |= {name: replace(EXACT, strategy=name.split()[0]) for name in checkpoints}
    found: dict[str, Course] = trained(GangEngine(device="cpu"), size, stages, checkpoints)
    return found


def of_others() -> dict[str, Checkpoint]:
    """Return the checkpoints of other numbers of ranks that two ranks go on from."""
    three, one = together(3), alone().checkpoint
    return {
        "pipeline after three of fsdp": three["fsdp exact"].checkpoint,
        "fsdp after three of pipeline": three["pipeline exact"].checkpoint,
        "fsdp after one": one,
        "pipeline after one": one,
    }


@functools.cache
def alone(**changes: Any) -> Course:
    return by_one(replace(EXACT, **changes))


def by_one(stage: st.TorchRegressor, **checkpoints: Checkpoint) -> Course:
    found: Course = trained(LocalEngine(device="cpu"), 1, {"it": stage}, checkpoints)["it"]
    return found


def demand_close(found: Fitted, expected: Fitted, atol: float = 1e-6) -> None:
    import torch
    from safetensors.torch import load

    one, other = load(found["weights"].data), load(expected["weights"].data)
    assert one.keys() == other.keys()
    for name, values in other.items():
        torch.testing.assert_close(one[name], values, rtol=0, atol=atol)


# What is learned


def test_ranks_learn_what_one_process_does(subtests: pytest.Subtests) -> None:
    expected = alone().learned
    for size, strategy in product((2, 3), STRATEGIES):
        with subtests.test(strategy=strategy, size=size):
            found = together(size)[f"{strategy} exact"].learned
            demand_close(found, expected)
            assert (found["history"], found["best_epoch"]) == (expected["history"], expected["best_epoch"])


def test_ranks_that_go_on_from_a_checkpoint_learn_what_undisturbed_ones_do(subtests: pytest.Subtests) -> None:
    for strategy in STRATEGIES:
        with subtests.test(strategy=strategy):
            course = together(2)[f"{strategy} resumed"]
            assert course.checkpoint.rounds == 2
            assert course.resumed == course.learned


def test_another_number_of_ranks_goes_on_from_a_checkpoint(subtests: pytest.Subtests) -> None:
    for strategy in STRATEGIES:
        with subtests.test(strategy, ranks=1):
            found = by_one(EXACT, it=together(3)[f"{strategy} exact"].checkpoint)
            demand_close(found.learned, alone().learned)
    for case in of_others():
        with subtests.test(case, ranks=2):
            demand_close(together(2)[case].learned, together(2)[f"{case.split()[0]} exact"].learned)


def test_gradients_in_float16_are_scaled_and_skipped_as_data_parallel_ranks_do() -> None:
    found, expected = (together(2)[f"{name} float16"].learned for name in ("fsdp", "ddp"))
    demand_close(found, expected, atol=1e-3)
    assert found["history"] != alone().learned["history"]


def test_parts_compute_in_bfloat16_as_one_process_does() -> None:
    found, expected = together(2)["pipeline bfloat16"].learned, alone(precision="bfloat16").learned
    demand_close(found, expected, atol=5e-3)
    assert found["history"] != alone().learned["history"]


def test_a_single_rank_has_all_of_the_module() -> None:
    for strategy in STRATEGIES:
        assert alone(strategy=strategy).learned == alone().learned


# Lost ranks, and clusters


@dataclass(frozen=True)
class Struck:
    """Trains; the last rank kills itself once, after three epochs."""

    stage: st.TorchRegressor
    marker: Path

    def __call__(self, rank: Rank) -> Fitted:
        rank = stricken(rank, self.marker, rank.size - 1, 3)
        return self.stage.train(rank, {"cardinalities": [CATEGORIES + 1]})


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_killed_rank_costs_nothing_but_time(strategy: str, tmp_path: Path) -> None:
    engine = GangEngine(device="cpu", progress=Notes())
    given = datasets(engine)
    stage = replace(RESUMED, strategy=strategy).bind(given["train"].schema)
    options = SpmdOptions(world_size=2, checkpoint_interval=2, timeout=20, max_restarts=1)
    found = engine.spmd(Struck(stage, tmp_path / "hit"), given, options, label="train")
    assert (tmp_path / "hit").exists()
    assert any("rank 1 (" in line for line in engine.progress.notes)  # type: ignore[attr-defined]
    assert found == together(2)[f"{strategy} resumed"].learned


@pytest.mark.dask
def test_workers_of_a_cluster_train_and_score(engines: Any) -> None:
    stage = st.TorchClassifier("c", features=("a", "b", "y"), module_options={"hidden": [8]}, batch_size=16, epochs=3)
    rows = {name: engines.get(name).from_arrow(table(101), fragment_bytes=900) for name in ("dask", "local")}
    models = [
        ps.Pipeline(replace(stage, strategy=strategy)).fit(rows[engine], options=SpmdOptions(world_size=size))
        for engine, strategy, size in (("local", "ddp", 1), ("dask", "fsdp", 2), ("dask", "pipeline", 2))
    ]
    expected, *found = (model.transform(rows["local"]).to_arrow()["prediction"] for model in models)
    assert found == [expected] * 2
    for model in models[1:]:
        demand_close(model.fitted[0], models[0].fitted[0], atol=1e-4)


def test_each_rank_may_read_the_rows_of_all() -> None:
    data = LocalEngine(device="cpu", progress=Notes()).from_arrow(pa.table({"x": range(10)}), fragment_bytes=24)

    def read(rank: Rank) -> Any:
        parts = rank.all_batches("train", ["x"], lambda frame: frame["x"].to_list())
        return rank.gather([row for part in parts for row in part])

    assert run(Threads(), read, {"train": data}, size=3) == [list(range(10))] * 3


# What cannot be spread


def test_settings_that_do_not_go_together_are_refused() -> None:
    for options, problem in (
        ({"strategy": "fdsp"}, "Did you mean 'fsdp'"),
        ({"microbatches": 4}, "microbatches of TorchRegressor is 4, but strategy is 'ddp'"),
        ({"strategy": "pipeline", "microbatches": 0}, "microbatches of TorchRegressor is 0, expected an integer >= 1"),
        ({"strategy": "pipeline", "precision": "float16"}, "'float16', but strategy is 'pipeline'"),
    ):
        with pytest.raises(ConfigError, match=problem):
            st.TorchRegressor("y", **options)


@pytest.mark.dask
def test_fewer_pieces_of_a_batch_than_ranks_are_refused(engines: Any) -> None:
    stage = st.TorchRegressor("y", features="a", epochs=1, strategy="pipeline", microbatches=1)
    with pytest.raises(ConfigError, match=r"microbatches of TorchRegressor is 1, expected at least .* ranks, 2"):
        ps.Pipeline(stage).fit(engines.get("dask").from_arrow(table(20)), options=SpmdOptions(world_size=2))


@functools.cache
def of_two_layers() -> Any:
    from torch import nn

    class Outer(nn.Module):
        """Goes on from one layer to the next by itself."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, rows: Any) -> Any:
            return self.second(self.first(rows))

    return Outer


def test_a_module_that_cannot_be_cut_is_refused(subtests: pytest.Subtests) -> None:
    from torch import nn

    from penstock.stages.training.torch._pipelined import cut

    outer, tied = of_two_layers(), [nn.Linear(2, 2), nn.Linear(2, 2)]
    tied[1].weight = tied[0].weight

    class Forgetful(outer):  # type: ignore[misc, valid-type]
        """A recipe without a layer."""

        def stages(self) -> list[nn.Module]:
            return [self.first, nn.Linear(2, 2)]

    frozen, averaged = nn.Linear(2, 2).requires_grad_(False), nn.BatchNorm1d(2)
    for module, problem in (
        (nn.Sequential(nn.Linear(2, 2), nn.ReLU()), r"has 1 module\(s\) with parameters .* fewer than 2 ranks"),
        (nn.Sequential(nn.Linear(2, 2), frozen), "has 1 module"),  # of which one learns
        (nn.Sequential(nn.ReLU()), r"has 0 module\(s\) with parameters"),
        (outer(), "Outer cannot be cut into parts for strategy='pipeline', expected nn.Sequential"),
        (Forgetful(), "parameter 'second.weight' is in none of the modules of stages()"),
        (nn.Sequential(*tied), "parameter '0.weight' is in parts 1, 2, expected one of 2 parts"),
        (nn.Sequential(nn.Linear(2, 2), averaged, nn.Linear(2, 1)), "only the rows of a part of a batch"),
    ):
        with subtests.test(problem=problem), pytest.raises(ConfigError, match=problem):
            cut(module, 2)


# How modules are cut


def test_parts_are_cut_where_shares_of_the_parameters_are_most_equal() -> None:
    from torch import nn

    from penstock.stages.training.torch._pipelined import cut

    widths = [(2, 30), (30, 30), (30, 30), (30, 2), (2, 2), (2, 1)]
    made = nn.Sequential(nn.Dropout(), *(nn.Sequential(nn.Linear(*each), nn.Tanh()) for each in widths))
    parts = [[type(module) for module in part] for part in cut(made, 3)]
    assert parts == [[nn.Dropout, *[nn.Linear, nn.Tanh] * 2], [nn.Linear, nn.Tanh], [nn.Linear, nn.Tanh] * 3]


def test_the_stages_of_a_tabular_module_do_what_it_does() -> None:
    import torch

    from penstock.stages.training.torch._tabular import Tabular

    module = Tabular(2, 1, [4], None, [8], 0.0, "relu").eval()
    features, codes = torch.randn(7, 2), torch.arange(7)[:, None] % 4
    first, *others = module.stages()
    made = functools.reduce(lambda passed, layer: layer(passed), others, first(features, codes))
    assert torch.equal(made, module(features, codes))


def test_shared_parameters_are_sharded_with_the_whole_module() -> None:
    from penstock.stages.training.torch._sharded import layers

    module = of_two_layers()()
    assert layers(module) == [module.first, module.second]
    module.second.bias = module.first.bias
    assert layers(module) == []


def test_missing_rows_of_a_batch_weigh_nothing() -> None:
    import torch

    from penstock.stages.training.torch._data import Rows
    from penstock.stages.training.torch._pipelined import padded

    rows = Rows(torch.tensor([[1.0], [2.0]]), None, torch.tensor([3.0, 4.0]), torch.tensor([0.5, 0.25]))
    found = padded(rows, 4)
    assert found.features[:, 0].tolist() == [1.0, 2.0, 1.0, 1.0]
    assert found.weight.tolist() == [0.5, 0.25, 0.0, 0.0]
