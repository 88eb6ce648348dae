"""Networks learn what a closed form, a larger batch and another number of ranks learn; their models travel as data."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, UnsupportedStepError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.spmd import Rank, SpmdOptions
from penstock.stages.modules import _FACTORIES, register_module
from penstock.stages.training.torch import _modules as modules
from penstock.stages.training.torch._modules import mlp
from penstock.testing import LocalGang

ROWS = 101
TWO_RANKS = pytest.mark.cpu("there are two ranks, and one GPU is for one rank")
EXACT = {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.05, "batch_size": 16, "epochs": 3}


def table(rows: int = ROWS) -> pa.Table:
    draw = np.random.default_rng(5)
    x = draw.normal(size=(rows, 3))
    columns = {f"f{place}": x[:, place] for place in range(3)}
    y = x @ [1.0, -2.0, 0.5] + 0.1 * draw.normal(size=rows)
    color = draw.integers(0, 4, rows)
    classes = np.array(["low", "middle", "top"])[np.digitize(y, [-1, 1])]
    return pa.table({**columns, "color": color, "y": y, "w": draw.integers(1, 4, rows) / 2, "class": classes})


def data(engine: Engine, fragment_bytes: int = 1500, **columns: Any) -> Dataset:
    given = table()
    for name, values in columns.items():
        given = given.set_column(given.schema.get_field_index(name), name, pa.array(values))
    return engine.from_arrow(given, fragment_bytes=fragment_bytes)


def regressor(**options: Any) -> st.TorchRegressor:
    return st.TorchRegressor("y", **{"features": ("f0", "f1", "f2"), "module_options": {"hidden": [8]}, **options})


def tabular(**options: Any) -> st.TorchClassifier:
    return st.TorchClassifier(
        "class", module="tabular", features=("f0", "f1", "f2"), categories="color", weight="w", **{**EXACT, **options}
    )


def weights(model: PipelineModel) -> dict[str, Any]:
    from safetensors.torch import load

    return load(model.fitted[-1]["weights"].data)


def fitted(dataset: Dataset, stage: Any, **options: Any) -> PipelineModel:
    return Pipeline(stage).fit(dataset, options=SpmdOptions(**options) if options else None)


def demand_close(found: PipelineModel, expected: PipelineModel, atol: float) -> None:
    one, other = weights(found), weights(expected)
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], rtol=0, atol=atol)


def demand_same(found: PipelineModel, expected: PipelineModel) -> None:
    assert found.fitted[-1]["weights"] == expected.fitted[-1]["weights"]
    assert found.fitted[-1]["history"] == expected.fitted[-1]["history"]


# What is learned


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_module_learns_what_gradient_descent_in_numpy_does(local, weighted):
    import torch

    rows = table()
    x = np.column_stack([rows[f"f{place}"].to_numpy() for place in range(3)] + [np.ones(ROWS)])
    y, weight = rows["y"].to_numpy(), rows["w"].to_numpy() if weighted else np.ones(ROWS)
    torch.manual_seed(4)
    start = mlp(inputs=3, outputs=1, hidden=[]).state_dict()
    beta = torch.cat([start["0.weight"][0], start["0.bias"]]).double().numpy()
    for _ in range(20):
        beta = beta - 0.1 * 2 * x.T @ (weight * (x @ beta - y)) / weight.sum()
    stage = regressor(
        module_options={"hidden": []}, weight="w" if weighted else None, optimizer="sgd", learning_rate=0.1,
        batch_size=1000, epochs=20, seed=4,
    )  # fmt: skip
    found = weights(fitted(data(local), stage))
    np.testing.assert_allclose(torch.cat([found["0.weight"][0], found["0.bias"]]), beta, atol=1e-6)


@TWO_RANKS
@pytest.mark.dask
@pytest.mark.parametrize("options", [{}, {"accumulate": 2, "clip_norm": 0.1}])
def test_two_ranks_learn_what_one_does(dask, local, options):
    two, one = (fitted(data(on), tabular(**options), world_size=size) for on, size in ((dask, 2), (local, 1)))
    demand_close(two, one, atol=1e-6)


@TWO_RANKS
@pytest.mark.dask
def test_a_rank_without_rows_takes_part(dask):
    rows = dask.from_arrow(table(1))
    demand_close(*(fitted(rows, regressor(**EXACT), world_size=size) for size in (2, 1)), atol=0)


@pytest.mark.thorough
def test_partitioning_changes_nothing(local):
    demand_same(*(fitted(data(local, fragment_bytes=size), tabular()) for size in (500, 10**6)))


@pytest.mark.thorough
def test_accumulated_batches_are_one_large_batch(local):
    small = fitted(data(local), tabular(batch_size=8, accumulate=4))
    demand_close(small, fitted(data(local), tabular(batch_size=32)), atol=1e-6)


def test_clipping_bounds_the_norm_of_a_step(local):
    import torch

    for norm in (0.01, 1e6):
        torch.manual_seed(0)
        start = mlp(inputs=3, outputs=1, hidden=[8]).state_dict()
        stage = regressor(optimizer="sgd", learning_rate=1.0, batch_size=1000, epochs=1, clip_norm=norm)
        found = weights(fitted(data(local), stage))
        step = torch.cat([(found[name] - start[name]).ravel() for name in start]).norm().item()
        assert step == pytest.approx(norm, rel=1e-4) if norm < 1 else 0.1 < step < 100


@pytest.mark.thorough
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_reduced_precision_trains_float32_weights(local, precision):
    options = {**EXACT, "epochs": 8}  # the first updates of float16 are skipped, until the gradients' scale suits
    full, reduced = (fitted(data(local), regressor(**options, precision=each)) for each in ("float32", precision))
    assert {str(value.dtype) for value in weights(reduced).values()} == {"torch.float32"}
    assert weights(reduced)["0.weight"].ne(weights(full)["0.weight"]).any()
    first, *_, last = reduced.fitted[0]["history"]["loss"]
    assert last < first / 20


@pytest.mark.parametrize(("optimizer", "kind"), [("adam", "Adam"), ("adamw", "AdamW")])
def test_updates_are_those_of_the_optimiser_of_pytorch(local, optimizer, kind):
    import torch

    rows = table()
    x = torch.tensor(np.column_stack([rows[f"f{place}"].to_numpy() for place in range(3)]), dtype=torch.float32)
    y = torch.tensor(rows["y"].to_numpy(), dtype=torch.float32)
    torch.manual_seed(0)
    module = mlp(inputs=3, outputs=1, hidden=[8])
    plain = getattr(torch.optim, kind)(module.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(5):
        plain.zero_grad()
        torch.nn.functional.huber_loss(module(x)[:, 0], y, delta=0.5).backward()
        plain.step()
    stage = regressor(
        optimizer=optimizer, learning_rate=0.01, weight_decay=0.1, batch_size=1000, epochs=5, loss="huber",
        loss_options={"delta": 0.5},
    )  # fmt: skip
    found = weights(fitted(data(local), stage))
    for name, value in module.state_dict().items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-5)  # Adam divides by gradients near 0


@pytest.mark.thorough
def test_digits_are_told_apart(local):
    x, label = load_digits(return_X_y=True)
    pixels = {f"p{place:02}": values / 16 for place, values in enumerate(x.T)}
    rows = local.from_arrow(pa.table({**pixels, "digit": label}), fragment_bytes=200_000)
    train, test = rows.split([0.75, 0.25], seed=2)
    stage = st.TorchClassifier(
        "digit", module_options={"hidden": [256]}, learning_rate=0.01, epochs=12, batch_size=64, schedule="one_cycle",
        loss_options={"label_smoothing": 0.1},
    )  # fmt: skip
    scored = fitted(train, stage).transform(test).to_arrow()
    assert np.mean(scored["prediction"].to_numpy() == scored["digit"].to_numpy()) > 0.97


# Early stopping, checkpoints


def opposed(engine: Engine) -> Dataset:
    """Return validation data whose labels are far from what the training data teaches."""
    return data(engine, y=2.0 - table()["y"].to_numpy())


@pytest.mark.thorough
def test_early_stopping_keeps_the_weights_of_the_best_epoch(local):
    stage = {**EXACT, "learning_rate": 0.002, "epochs": 30}
    model = Pipeline(regressor(**stage, early_stopping_rounds=3)).fit(data(local), validation=opposed(local))
    learned = model.fitted[0]
    watched = learned["history"]["validation_loss"]
    assert learned["best_epoch"] == 1 + watched.index(min(watched)) < learned["epochs"] == learned["best_epoch"] + 3
    best = fitted(data(local), regressor(**{**stage, "epochs": learned["best_epoch"]}))
    assert learned["weights"] == best.fitted[0]["weights"]


@pytest.mark.thorough
def test_a_validation_loss_is_that_of_the_model(local):
    model = Pipeline(regressor(**EXACT, weight="w")).fit(data(local), validation=opposed(local))
    scored = model.transform(opposed(local)).to_arrow()
    apart = (scored["prediction"].to_numpy() - scored["y"].to_numpy()) ** 2
    expected = np.average(apart, weights=scored["w"].to_numpy())
    assert model.fitted[0]["history"]["validation_loss"][-1] == pytest.approx(expected, rel=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "adamw", "weight_decay": 0.1, "schedule": "one_cycle"},
        {"optimizer": "sgd", "momentum": 0.9, "schedule": "step", "step_size": 2, "precision": "float16"},
        {"optimizer": "sgd", "schedule": "cosine", "early_stopping_rounds": 4},
    ],
)
def test_a_training_that_goes_on_from_a_checkpoint_learns_what_an_undisturbed_one_does(
    local, tmp_path, monkeypatch, options
):
    stage = regressor(module_options={"hidden": [8], "dropout": 0.3}, batch_size=16, epochs=7, **options)

    def train(folder: str) -> PipelineModel:
        spmd = SpmdOptions(checkpoint_interval=3, checkpoint_dir=tmp_path / folder)
        return Pipeline(stage).fit(data(local), validation=opposed(local), options=spmd)

    def interrupted(rank: Rank, rounds: int, detail: str = "") -> None:
        seen.append(rounds)
        if rounds == 5 and len(seen) == 5:
            raise KeyboardInterrupt

    seen: list[int] = []
    undisturbed = train("one")
    monkeypatch.setattr(Rank, "report", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train("other")
    demand_same(train("other"), undisturbed)
    assert seen[:6] == [1, 2, 3, 4, 5, 4]


# Models


@pytest.mark.thorough
def test_a_saved_model_scores_the_same_and_has_its_weights_in_safetensors(local, tmp_path):
    from safetensors.torch import load

    model = fitted(data(local), tabular())
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    assert again.transform(data(local)).to_arrow().equals(model.transform(data(local)).to_arrow())
    (stored,) = (tmp_path / "model" / "weights").iterdir()
    layers = [f"layers.{place}.{kind}" for place in (0, 2, 4) for kind in ("bias", "weight")]
    assert sorted(load(stored.read_bytes())) == ["embeddings.0.weight", *layers]


@pytest.mark.thorough
def test_scores_are_the_softmax_of_the_module(local):
    import torch

    model = fitted(data(local), tabular())
    module = modules.tabular(inputs=3, outputs=3, cardinalities=[5])
    module.load_state_dict(weights(model))
    scored = model.transform(data(local)).to_arrow()
    x = torch.tensor(np.column_stack([scored[f"f{place}"].to_numpy() for place in range(3)]), dtype=torch.float32)
    codes = torch.tensor(scored["color"].to_numpy() + 1)[:, None]
    expected = module(x, codes).detach().softmax(dim=1).numpy()
    np.testing.assert_allclose(np.array(scored["probability"].to_pylist()), expected, atol=1e-6)
    names = np.array(["low", "middle", "top"])
    assert scored["prediction"].to_pylist() == names[expected.argmax(axis=1)].tolist()


@pytest.mark.thorough
def test_a_code_not_seen_at_fit_has_an_embedding_of_zeros(local):
    model = fitted(data(local), tabular())
    assert not weights(model)["embeddings.0.weight"][0].any()
    strange = [data(local, color=np.full(ROWS, code)) for code in (4, 10**12)]
    one, other = (model.transform(rows).to_arrow()["probability"].to_pylist() for rows in strange)
    assert one == other


def quadratic(*, inputs: int, outputs: int, width: int) -> Any:
    import torch

    class Quadratic(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = torch.nn.Linear(inputs, width), torch.nn.Linear(width, outputs)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return self.outer(self.inner(features) ** 2)

    return Quadratic()


@TWO_RANKS
@pytest.mark.dask
@pytest.mark.usefixtures("registered")
def test_a_module_of_ones_own_goes_to_the_workers(dask):
    quadratic.__module__ = "__main__"  # sent by value, as a notebook's functions are
    register_module("quadratic")(quadratic)
    stage = regressor(module="quadratic", module_options={"width": 4}, **{**EXACT, "learning_rate": 0.005})
    model = fitted(data(dask), stage, world_size=2)
    assert weights(model)["inner.weight"].shape == (4, 3)
    assert model.transform(data(dask)).to_arrow()["prediction"].null_count == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("registered")
def test_a_loaded_model_needs_its_module_registered(local, tmp_path):
    import torch

    register_module("gone")(lambda inputs, outputs: torch.nn.Linear(inputs, outputs))
    fitted(data(local), regressor(module="gone", module_options={}, **EXACT)).save(tmp_path / "model")
    del _FACTORIES.known["gone"]
    model = PipelineModel.load(tmp_path / "model")
    with pytest.raises(UnsupportedStepError, match="module 'gone' is not registered"):
        model.transform(data(local)).to_arrow()


@pytest.mark.thorough
def test_progress_tells_the_losses(local):
    gang = LocalGang(1)
    [fitted] = gang.train(regressor(**EXACT), data(local), validation=opposed(local))
    losses = zip(*fitted["history"].values(), strict=True)
    assert gang.reports[0] == [(i, f"loss {one:.5g}, validation {two:.5g}") for i, (one, two) in enumerate(losses, 1)]


@pytest.mark.thorough
def test_random_numbers_and_threads_of_others_are_left_alone(local):
    import torch

    before, threads = torch.get_rng_state(), torch.get_num_threads()
    fitted(data(local), regressor(module_options={"dropout": 0.5}, epochs=1)).transform(data(local)).to_arrow()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@TWO_RANKS
@pytest.mark.dask
@pytest.mark.faults
def test_ranks_that_fail_together_end_at_once(dask, caplog):
    for _ in range(6):  # about two of them hung while a failed rank freed its group, and its worker was killed
        with pytest.raises(DataValueError, match="the loss of 'y' is"):
            fitted(data(dask), regressor(**{**EXACT, "learning_rate": 5.0}), world_size=2)
    assert "does not end" not in caplog.text


@TWO_RANKS
@pytest.mark.dask
@pytest.mark.usefixtures("registered")
def test_batch_normalisation_over_some_ranks_is_refused_on_cpus(dask):
    import torch

    register_module("normed")(
        lambda inputs, outputs: torch.nn.Sequential(torch.nn.BatchNorm1d(inputs), torch.nn.Linear(inputs, outputs))
    )
    stage = regressor(module="normed", module_options={}, **EXACT)
    with pytest.raises(ConfigError, match="batch normalisation, which would see only the rows of one of 2 ranks"):
        fitted(data(dask), stage, world_size=2)
    assert fitted(data(dask), stage, world_size=1).fitted[0]["epochs"] == 3


def test_modules_are_registered_by_the_library():
    assert ps.register_module is register_module
    assert {"mlp", "tabular"} <= _FACTORIES.known.keys()
