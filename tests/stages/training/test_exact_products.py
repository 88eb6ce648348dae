"""Products of features with a few vectors are those of exact arithmetic, rounded once, wherever a row lies."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from on_stand_in import stand_in  # noqa: F401

from penstock.frames import matrices
from penstock.stages.training.clustering import _lloyd
from penstock.stages.training.clustering._clusters import PlainClusters
from penstock.stages.training.exact import products as _exact_products
from penstock.stages.training.exact.design import Rows, Scaling, ToRows
from penstock.stages.training.exact.products import Coefficients, FeatureGrid, LossAt, NumberSlices, ProductDesign

FEATURES, ROWS = 6, 500
DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(FEATURES, ROWS)) * 10.0 ** np.arange(-12, 12, 4)[:, None]
LABEL = DRAW.normal(size=ROWS)


@dataclass
class Alone:
    """The only rank, with rows in memory."""

    parts: list[Rows]
    threads: int = 1
    kind: str = "cpu"
    given: list[np.ndarray] = field(default_factory=list)

    def batches(self, *_: Any) -> list[Rows]:
        return [Rows(rows.x.copy(), rows.label, rows.weight) for rows in self.parts]

    def prepared(self, _: Any, build: Callable[[], Any]) -> Any:
        return build()

    def allreduce(self, values: np.ndarray) -> np.ndarray:
        self.given.append(values)
        return values


def design(
    order: np.ndarray, cuts: int, threads: int = 1, weight: np.ndarray | None = None, kind: Any = "cpu"
) -> ProductDesign:
    bounds = np.abs(X).max(axis=1)
    zeros, ones = np.zeros(FEATURES), np.ones(FEATURES)
    convert = ToRows((), "label", None, None if weight is None else "w", Scaling(zeros, ones, -bounds, bounds, False))
    cut = [(X[:, rows], LABEL[rows], None if weight is None else weight[rows]) for rows in np.array_split(order, cuts)]
    parts = [Rows(*(each if each is None else matrices.to_device(each, kind) for each in part)) for part in cut]
    largest = 1.0 if weight is None else float(weight.max())
    return ProductDesign(Alone(parts, threads, kind), convert, ROWS, largest)  # type: ignore[arg-type]


def halves_of_squares(margins: Any, label: Any) -> tuple[Any, Any]:
    """Half of the squared distance of a margin from its label, and a derivative no larger than 1."""
    towards = np.tanh(margins - label)
    return (towards**2 / 2).sum(axis=0), towards


def test_slices_are_multiples_of_their_units_and_lose_less_than_the_last():
    values = np.random.default_rng(4).normal(size=1000)
    slices = NumberSlices.of(float(np.abs(values).max()), terms=4096, total=47)
    parts = slices.cut(values)
    for part, unit in zip(parts, slices.units, strict=True):
        whole = part / unit
        np.testing.assert_array_equal(whole, np.round(whole))
        assert np.abs(whole).max() <= 2**slices.bits
    assert np.abs(values - sum(parts)).max() <= slices.units[-1] / 2


def test_halves_of_features_add_up_to_them_and_have_few_bits():
    grid = FeatureGrid.of(np.abs(X).max(axis=1))
    rounded = X.copy()
    grid.round(rounded)
    high, low = np.split(grid.halves(rounded, grid.room(ROWS)), 2)
    np.testing.assert_array_equal(high + low, rounded)
    scale = np.ldexp(1.0, grid.exponents)[:, None]
    assert (np.abs(rounded - X) <= scale * 2.0**-52).all()
    for half, unit in ((high, scale * 2.0**-25), (low, scale * 2.0**-51)):
        np.testing.assert_array_equal(half / unit, np.round(half / unit))
        assert (np.abs(half) <= unit * 2**25).all()


def test_margins_are_those_of_exact_arithmetic():
    grid = FeatureGrid.of(np.abs(X).max(axis=1))
    rounded = X.copy()
    grid.round(rounded)
    coefficients = np.random.default_rng(5).normal(size=(2, FEATURES)) / np.ldexp(1.0, grid.exponents)
    made = Coefficients.of(coefficients, grid).times(grid.halves(rounded, grid.room(ROWS)))
    for output, place in ((0, 3), (1, 250)):
        pairs = zip(coefficients[output].tolist(), rounded[:, place].tolist(), strict=True)
        exact = sum(Fraction(one) * Fraction(other) for one, other in pairs)
        assert made[output, place] == pytest.approx(float(exact), rel=0, abs=1e-13)


def test_the_margins_of_a_row_do_not_depend_on_those_beside_it():
    grid = FeatureGrid.of(np.abs(X).max(axis=1))
    coefficients = Coefficients.of(np.random.default_rng(6).normal(size=(3, FEATURES)), grid)
    whole = coefficients.times(grid.halves(X, grid.room(ROWS)))
    alone = [coefficients.times(grid.halves(X[:, place : place + 1], grid.room(1))) for place in range(40)]
    np.testing.assert_array_equal(np.concatenate(alone, axis=1), whole[:, :40])


def test_slices_of_any_width_add_up_to_the_same():
    values = np.random.default_rng(4).normal(size=1000)
    sums = [sum(NumberSlices.of(10.0, terms, total=47).cut(values)) for terms in (2, 2**13, 2**18)]
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[0], sums[2])


@pytest.mark.parametrize("weighted", [False, True])
def test_loss_and_gradient_are_the_same_to_the_bit_however_rows_are_dealt(monkeypatch, weighted):
    source = np.random.default_rng(7)
    weight = source.uniform(0, 1e6, ROWS) if weighted else None
    coefficients = np.full((1, FEATURES), 0.1) / np.abs(X).max(axis=1)
    found = []
    for order, cuts, threads, length in (
        (np.arange(ROWS), 1, 1, 2**18),
        (source.permutation(ROWS), 9, 1, 2**13),
        (source.permutation(ROWS), 3, 4, 64),
    ):
        monkeypatch.setattr(_exact_products._Round, "length", length)
        made = design(order, cuts, threads, weight)
        found.append(made.loss_and_gradient(coefficients, halves_of_squares, largest_loss=0.5))
    for loss, gradient in found[1:]:
        assert loss == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


def test_the_gradient_is_that_of_exact_arithmetic():
    made = design(np.arange(ROWS), 4)
    coefficients = np.full((1, FEATURES), 0.1) / np.abs(X).max(axis=1)
    loss, gradient = made.loss_and_gradient(coefficients, halves_of_squares, largest_loss=0.5)
    losses, residuals = halves_of_squares(coefficients @ X, LABEL)
    assert loss == pytest.approx(losses.sum(), rel=1e-13)
    for place, row in enumerate(X):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(row.tolist(), residuals[0].tolist(), strict=True))
        assert gradient[place] == pytest.approx(float(exact), rel=0, abs=1e-13 * ROWS * float(np.abs(row).max()))


def test_losses_that_are_added_up_together_are_those_of_each_by_itself():
    whole = design(np.arange(ROWS), 3, threads=2)
    source = np.random.default_rng(8)
    asked = [
        LossAt(scale * source.normal(size=(outputs, FEATURES)), halves_of_squares, largest)
        for outputs, scale, largest in ((1, 1.0, 0.5), (3, 1e-9, 1.5), (2, 1e6, 1.0))
    ]
    together = whole.losses_and_gradients(asked)
    for each, (loss, gradient) in zip(asked, together, strict=True):
        alone = whole.loss_and_gradient(each.coefficients, each.loss, largest_loss=each.largest_loss)
        assert loss == alone[0]
        assert gradient.tobytes() == alone[1].tobytes()


@pytest.mark.stand_in
@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("weight", [None, np.random.default_rng(9).uniform(0, 1e3, ROWS)], ids=["equal", "weighted"])
def test_sums_on_a_gpu_are_those_of_a_cpu_up_to_rounding(weight):
    asked = [LossAt(np.full((n, FEATURES), 0.1) / np.abs(X).max(axis=1), halves_of_squares, 1) for n in (1, 3)]
    cpu, gpu = (design(np.arange(ROWS), 3, weight=weight, kind=kind) for kind in ("cpu", "gpu"))
    pairs = zip(cpu.losses_and_gradients(asked), gpu.losses_and_gradients(asked), strict=True)
    for expected, found in pairs:
        assert found[0] == pytest.approx(expected[0], rel=1e-13)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-11)


@pytest.mark.stand_in
@pytest.mark.usefixtures("stand_in")
def test_points_on_a_gpu_count_once_in_pieces(monkeypatch):
    monkeypatch.setitem(_lloyd._AT_A_TIME, "gpu", 64)
    vectors, weight = (matrices.to_device(each, "gpu") for each in (X, np.ones(ROWS)))
    sizes = _lloyd.lengths(vectors)
    points = _lloyd.Points(vectors, weight, 0, ROWS, np.abs(X).max(axis=1), 1.0, 1, sizes, "gpu")
    PlainClusters(points).means(rank := Alone([]), X[:, :3].T)
    assert rank.given[0][:, 0].sum() == ROWS
