"""Products of features with a few vectors, the same to the bit wherever a row lies and whichever rank has it.

An iterative trainer asks in each round for the margins ``B @ x`` and the gradient ``R @ x.T``, where x has a row for
each feature. BLAS adds up in an order of its own, so that the last digits of both would depend on how rows are dealt.
Here features are cut into two halves, and the other factor into slices, of so few bits that every product of the two is
exact in float64: the error-free transformation of Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix
multiplication by using fast routines of matrix multiplication", Numerical Algorithms 59, 2012. Sums of such products
over blocks of rows are kept in two parts, which are exact as well.

On a GPU products of whole fragments are added up plainly, in few calls.

Features are rounded once, to multiples of 2**-51 of a power of two that is not below their bound, and not above twice
it. Of the other factor the first 47 bits count: how many slices these are cut into depends on the device, and what they
add up to does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np

from penstock.frames import matrices
from penstock.stages.training.exact.design import Design, Rows, ToRows, sum_on_gpu
from penstock.stages.training.exact.sums import Split

_HALF = 25
"""Bits of a half of a feature, besides the sign: two of them, and the bit that rounding to nearest saves, are 51."""
_MANTISSA = 53
_BITS, _BITS_OF_LOW = 47, 23
_LOSSES = 2**16
_ROWS = 2**13
"""How many rows are multiplied together: few enough for the cache of a core, many enough that calls cost little."""

Loss = Callable[[Any, Any], tuple[Any, Any]]
"""Gives, of margins of shape (outputs, rows) and labels, the loss of each row and its derivatives by the margins.

Losses have shape (rows,) or (1, rows).
"""


@dataclass(frozen=True)
class LossAt:
    """A loss that is to be added up over all rows, and where.

    Parameters
    ----------
    coefficients : numpy.ndarray of shape (outputs, features)
        The same on every rank.
    loss : callable
        Its derivatives are not larger than 1.
    largest_loss : float
        No loss of a row is larger.
    """

    coefficients: np.ndarray
    loss: Loss
    largest_loss: float


@dataclass(frozen=True)
class NumberSlices:
    """How to cut numbers of a known size into slices of at most `bits` bits each, multiples of `units`.

    Examples
    --------
    >>> parts = NumberSlices.of(1.0, terms=4, total=48).cut(np.array([[1 / 3]]))
    >>> len(parts), abs(float(sum(parts)[0, 0]) - 1 / 3) < 2.0**-48
    (2, True)
    """

    bits: int
    units: tuple[float, ...]

    @classmethod
    def of(cls, largest: float, terms: int, total: int) -> Self:
        """Return the slices for `total` bits of numbers no larger than `largest`, `terms` of which meet halves."""
        bits = _MANTISSA - _HALF - math.ceil(math.log2(max(terms, 1)))
        power = math.frexp(largest)[1]
        ends = [min(bits + place * (bits + 1), total) for place in range(-(-(total + 1) // (bits + 1)))]
        return cls(bits, tuple(math.ldexp(1.0, power - end) for end in ends))

    def cut(self, values: Any) -> list[Any]:
        """Return the slices, of the shape of `values`; they add up to the nearest multiples of the last unit."""
        parts = []
        for unit in self.units:
            parts.append(_rounded(values, 1.5 / _ULP * unit))
            values = values - parts[-1]
        return parts


_ULP = 2.0**-52


def _rounded(values: Any, large: Any) -> Any:
    """Return values as multiples of the last digit of `large`, which is 1.5 times a power of two, and much larger."""
    made = values + large
    made -= large
    return made


@dataclass(frozen=True, eq=False)
class FeatureGrid:
    """What features are multiples of, from bounds on their sizes; ``exponents`` of powers of two that are larger."""

    exponents: np.ndarray

    @classmethod
    def of(cls, bounds: np.ndarray) -> Self:
        """Return the grid for features no larger than `bounds`."""
        return cls(np.frexp(bounds)[1])

    def round(self, x: np.ndarray) -> None:
        """Round features in place, which are rows of `x`."""
        large = self._large(1)
        x += large
        x -= large

    def halves(self, x: np.ndarray, room: np.ndarray) -> np.ndarray:
        """Return the high halves of features that were rounded, and below them the low ones.

        They are written into `room`: new memory for each block would cost more than what is computed there.
        """
        both = room[:, : x.shape[1]]
        high, low = _parted(both)
        large = self._large(_MANTISSA - 1 - _HALF)
        np.add(x, large, out=high)
        high -= large
        np.subtract(x, high, out=low)
        return both

    def room(self, rows: int) -> np.ndarray:
        """Return an array for the halves of so many rows."""
        return np.empty((2 * len(self.exponents), rows))

    def _large(self, above: int) -> np.ndarray:
        return np.ldexp(1.5, self.exponents + above)[:, None]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Rows of coefficients, cut for products with the high halves of features, and with the low ones."""

    high: Any
    low: Any
    outputs: int

    @classmethod
    def of(cls, coefficients: np.ndarray, grid: FeatureGrid) -> Self:
        """Cut coefficients of shape (outputs, features)."""
        scales = np.ldexp(1.0, grid.exponents)
        scaled = coefficients * scales
        largest = float(np.abs(scaled).max(initial=0.0))
        high, low = (
            np.concatenate(NumberSlices.of(largest, coefficients.shape[1], total).cut(scaled)) / scales
            for total in (_BITS, _BITS_OF_LOW)
        )
        return cls(high, low, len(coefficients))

    def times(self, halves: Any) -> Any:
        """Return the products with features, of shape (outputs, rows)."""
        high, low = _parted(halves)
        return self.joined(self.low @ low, self.high @ high)

    def joined(self, low: Any, high: Any) -> Any:
        """Return the sum of the products of all slices, the smallest first."""
        first, *others = [*self._each(low), *self._each(high)]
        for part in others:
            first += part
        return first

    def _each(self, products: Any) -> list[Any]:
        """Return the products of each slice, the smallest first."""
        return [products[end - self.outputs : end] for end in range(len(products), 0, -self.outputs)]


@dataclass(frozen=True, eq=False)
class CoefficientSets:
    """Several `Coefficients`, multiplied together; the rows of each end at ``ends``."""

    high: Any
    low: Any
    each: tuple[Coefficients, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, sets: Sequence[np.ndarray], grid: FeatureGrid) -> Self:
        """Cut each by its own largest, as it would be by itself."""
        each = tuple(Coefficients.of(coefficients, grid) for coefficients in sets)
        ends = tuple(accumulate(part.outputs for part in each))
        return cls(
            np.concatenate([part.high for part in each]), np.concatenate([part.low for part in each]), each, ends
        )

    @property
    def outputs(self) -> int:
        """How many rows all have."""
        return self.ends[-1]

    def times(self, halves: Any) -> list[Any]:
        """Return the products of each with features, of shape (outputs, rows)."""
        high, low = _parted(halves)
        return [
            part.joined(of_low, of_high)
            for part, of_low, of_high in zip(
                self.each, self._split(self.low @ low, "low"), self._split(self.high @ high, "high"), strict=True
            )
        ]

    def _split(self, products: Any, half: str) -> list[Any]:
        ends = list(accumulate(len(getattr(part, half)) for part in self.each))
        return [products[begin:end] for begin, end in pairwise([0, *ends])]


def _parted(halves: Any) -> tuple[Any, Any]:
    """Return the high and the low halves. OpenBLAS multiplies by each faster than by both together."""
    features = len(halves) // 2
    return halves[:features], halves[features:]


class ProductDesign(Design):
    """A :class:`Design` whose features are rounded, to be multiplied without error."""

    @cached_property
    def grid(self) -> FeatureGrid:
        """What features are multiples of."""
        return FeatureGrid.of(self.bounds)

    def _read(self, convert: ToRows) -> list[Rows]:
        read = super()._read(convert)
        for rows in read if self.kind == "cpu" else []:
            self.grid.round(rows.x)
        return read

    def loss_and_gradient(
        self, coefficients: np.ndarray, loss: Loss, *, largest_loss: float
    ) -> tuple[float, np.ndarray]:
        """Return the weighted sum of the losses of all rows, and its gradient; every rank calls it."""
        (result,) = self.losses_and_gradients([LossAt(coefficients, loss, largest_loss)])
        return result

    def losses_and_gradients(self, asked: Sequence[LossAt]) -> list[tuple[float, np.ndarray]]:
        """Return of several losses what `loss_and_gradient` returns of each, from one pass over the rows.

        Products are exact, so that it makes no difference which of them are made together. On a GPU they are not.
        """
        work = _Round(self, asked) if self.kind == "cpu" else _PlainRound(self, asked)
        return work.finished(self._added(work, work.length))


class _PlainRound:
    """Losses and their gradients on a GPU, by plain sums over fragments."""

    def __init__(self, design: ProductDesign, asked: Sequence[LossAt]) -> None:
        self.asked, self.length = asked, design.total
        self.coefficients = [matrices.to_device(each.coefficients, "gpu") for each in asked]
        self.ends = list(accumulate(each.coefficients.size + 1 for each in asked))

    def __call__(self, parts: Sequence[Rows]) -> np.ndarray:
        """Return the sum of each loss, and after it that of its gradients."""
        return sum_on_gpu(parts, self._of_fragment, (self.ends[-1],))

    def _of_fragment(self, rows: Rows) -> Any:
        sums = []
        for each, coefficients in zip(self.asked, self.coefficients, strict=True):
            losses, towards = each.loss(coefficients @ rows.x, rows.label)
            sums += [rows.weighted(losses).sum(), rows.weighted(towards) @ rows.x.T]
        return np.concatenate(sums, axis=None)

    def finished(self, sums: np.ndarray) -> list[tuple[float, np.ndarray]]:
        """Return the sum of each loss and that of its gradients."""
        return [(float(each[0]), each[1:]) for each in np.split(sums, self.ends[:-1])]


class _Round:
    """One evaluation of some losses and their gradients over the rows of a rank."""

    length = _ROWS

    def __init__(self, design: ProductDesign, asked: Sequence[LossAt]) -> None:
        self.grid, self.asked = design.grid, asked
        self.coefficients = CoefficientSets.of([each.coefficients for each in asked], design.grid)
        largest = np.array([design.largest_weight * each.largest_loss for each in asked])
        self.losses = Split.of(largest, design.total)
        self.residuals = NumberSlices.of(design.largest_weight, self.length, _BITS)
        units = np.array(self.residuals.units)[:, None]
        halves = np.append(self.grid.exponents, self.grid.exponents - _HALF - 1)
        exponents = np.frexp(design.total)[1] + self.residuals.bits + halves
        self.large = (np.ldexp(1.5, exponents) * units)[:, None, :]

    def __call__(self, parts: Sequence[Rows]) -> np.ndarray:
        """Return two parts of each sum, one after the other; those of several ranks may be added."""
        sums = np.zeros((2, len(self.large), self.coefficients.outputs, 2 * len(self.grid.exponents)))
        losses = np.empty((len(self.asked), sum(rows.x.shape[1] for rows in parts)))
        room, end = self.grid.room(self.length if parts else 0), 0
        for rows in parts:
            halves = self.grid.halves(rows.x, room)
            begin, end = end, end + halves.shape[1]
            residuals = []
            for each, lost, margins in zip(self.asked, losses, self.coefficients.times(halves), strict=True):
                of_rows, towards = each.loss(margins, rows.label)
                lost[begin:end] = rows.weighted(of_rows)
                residuals.append(rows.weighted(towards))
            made = self._products(residuals, halves)
            coarse = _rounded(made, self.large)
            sums[0] += coarse
            sums[1] += made - coarse
        return np.concatenate([self._summed(losses).ravel(), sums.ravel()])

    def _products(self, residuals: Sequence[Any], halves: Any) -> np.ndarray:
        """Return the products of each slice, of shape (slices, outputs, 2 * features)."""
        slices = np.concatenate(self.residuals.cut(np.concatenate(residuals)))
        products = np.concatenate([slices @ half.T for half in _parted(halves)], axis=1)
        return products.reshape(len(self.large), self.coefficients.outputs, -1)

    def _summed(self, losses: Any) -> np.ndarray:
        """Return two parts of the sums of the losses; many at a time, as calls for a few would take longer."""
        starts = range(0, losses.shape[1], _LOSSES)
        none = np.zeros((2, len(losses)))
        return sum((self.losses.sums(losses[:, start : start + _LOSSES]) for start in starts), none)

    def finished(self, sums: np.ndarray) -> list[tuple[float, np.ndarray]]:
        """Return the sum of each loss and that of its gradients."""
        outputs, features = self.coefficients.outputs, len(self.grid.exponents)
        losses, products = np.split(sums, [2 * len(self.asked)])
        products = products.reshape(-1, outputs, 2, features).swapaxes(1, 2)
        gradients = _added(products.reshape(-1, outputs * features)).reshape(outputs, features)
        of_each = np.split(gradients, self.coefficients.ends[:-1])
        return [(float(loss), each.ravel()) for loss, each in zip(np.add(*losses.reshape(2, -1)), of_each, strict=True)]


def _added(parts: np.ndarray) -> np.ndarray:
    """Return the sum of some rows, rounded once but for rare cases: Knuth's sum keeps what each addition rounds off."""
    total, lost = np.zeros_like(parts[0]), np.zeros_like(parts[0])
    for part in parts:
        added = total + part
        kept = added - part
        lost += (total - kept) + (part - (added - kept))
        total = added
    return total + lost
