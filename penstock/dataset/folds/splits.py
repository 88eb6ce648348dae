"""Parts of a dataset, as a dataset offers them: folds, splits and samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Number
from typing import TYPE_CHECKING, Any, cast

from penstock.core.errors import ConfigError
from penstock.dataset.folds.blocks import DealBlocks, InBlocks
from penstock.dataset.folds.dealers import SPLIT_STREAM
from penstock.dataset.folds.dealing import given_folds, group_folds, random_folds, stratified_folds, time_folds
from penstock.dataset.folds.folds import Folds
from penstock.dataset.folds.stratified import by_fractions, stratified
from penstock.dataset.steps import check_numbered, history
from penstock.io.fragments import Sample

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.folds.time_ordered import Span

HINT = "Take a column that says where a row belongs, or write the rows to Parquet and read them again."


MOST_FOLDS = 1000


class Splits:
    """The part of a dataset that takes it apart, by rows."""

    def folds(
        self,
        num_folds: int = 5,
        *,
        seed: int = 0,
        by: str | None = None,
        stratify: str | None = None,
        group: str | Sequence[str] | None = None,
        time: str | None = None,
        window: str | int = "expanding",
        gap: Span | None = None,
        horizon: Span | None = None,
    ) -> Folds:
        """Return folds for cross-validation: for each, the rows to train on and the rows to validate with.

        They are datasets like any other, and the same rows on every engine, device and partitioning. Each row is
        validated once, but for folds by time.

        Parameters
        ----------
        num_folds : int, default 5
            From 2 to 1,000.
        seed : int, default 0
            Of the deal at random, by row, class or group. Folds of a fold are dealt anew, also with the same seed.
        by : str, optional
            A column of whole numbers from 0 to ``num_folds - 1``, the fold that each row is validated in (MLlib's
            ``foldCol``).
        stratify : str, optional
            A column of classes: strings, booleans or numbers, at most 10,000 different ones; null is a class. Each
            fold has its share of every class to within one row, and of all rows to within one.
        group : str or sequence of str, optional
            Rows that agree in these columns are in one fold; null is a value. Folds have about as many rows, as far as
            the sizes of groups let them: the largest groups are dealt first, each to the fold that has fewest rows. Of
            more than 4,096 groups some are kept together, by a hash of their values.
        time : str, optional
            A column of dates, timestamps or integers without nulls. What a fold trains on is earlier than all that it
            validates with, and folds come in the order of time. Rows are cut into spans of equal numbers, as in
            scikit-learn's ``TimeSeriesSplit``, but that rows of one time are never parted: the first fold validates
            with the second span, the last one with the last.
        window : {"expanding", "sliding"} or int, default "expanding"
            Of folds by time: train on all spans before, on one, or on so many.
        gap : datetime.timedelta or int, optional
            Of folds by time: rows that are no more than so much earlier than the first to validate with are not trained
            on; an integer for a column of integers.
        horizon : datetime.timedelta or int, optional
            Of folds by time: cut into spans that are so long, the last of which ends with the last row, and not by
            numbers of rows.

        Returns
        -------
        Folds
            A sequence of `Fold`: ``index``, ``train``, ``validation``.

        Raises
        ------
        ConfigError
            `num_folds` is out of range; more than one of `by`, `stratify`, `group` and `time` is given, or `window`,
            `gap` or `horizon` without `time`; rows have no numbers (after `map_partitions`), and are dealt by them.
        SchemaError
            A column is not there, or is of another type.
        EmptyInputError
            A fold would have no row to validate with, or to train on, where that can be known now.
        DataValueError
            A time is null, or a value of `by` is no fold: with the number of them, and the first file and row.

        Notes
        -----
        Rows are dealt by their number without being read, as ``LinearRegressionCV`` with the same seed deals them. The
        other folds read the column that they go by, now: once, and for classes and times once or twice more where there
        are more than 65,536 rows of classes, or different times. What is set aside before rows are dealt, as records
        that could not be parsed are, is in no fold: whoever writes one finds it in the quarantine.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> table = pa.table({"day": range(12), "shop": ["a", "b", "c"] * 4, "sold": [True, False] * 6})
        >>> data = ps.LocalEngine(device="cpu").from_arrow(table)
        >>> [fold.validation.count() for fold in data.folds(3, stratify="sold")]
        [4, 4, 4]
        >>> [set(fold.validation.to_arrow()["shop"].to_pylist()) for fold in data.folds(3, group="shop")]
        [{'a'}, {'c'}, {'b'}]
        >>> for fold in data.folds(2, time="day", gap=1):
        ...     print(fold.train.to_arrow()["day"].to_pylist(), fold.validation.to_arrow()["day"].to_pylist())
        [0, 1, 2] [4, 5, 6, 7]
        [0, 1, 2, 3, 4, 5, 6] [8, 9, 10, 11]
        """
        data = cast("Dataset", self)
        check_whole("num_folds", num_folds, 2, MOST_FOLDS)
        check_seed(seed)
        ways = {"by": by, "stratify": stratify, "group": group, "time": time}
        chosen = [name for name, value in ways.items() if value is not None]
        if len(chosen) > 1:
            raise ConfigError(f"folds are dealt by one of {', '.join(ways)}, found {' and '.join(chosen)}")
        if time is not None:
            return time_folds(data, time, num_folds, window, gap, horizon)
        _refuse_without_time(window, gap, horizon)
        if by is not None:
            return given_folds(data, by, num_folds)
        if group is not None:
            return group_folds(data, group, num_folds, level(data, seed))
        check_numbered(data.steps, "folds", HINT)
        if stratify is not None:
            return stratified_folds(data, stratify, num_folds, level(data, seed))
        return random_folds(data, num_folds, level(data, seed))

    def split(self, weights: Sequence[float], *, seed: int | None = None, stratify: str | None = None) -> list[Dataset]:
        """Cut the rows at random into parts of about these shares.

        Parameters
        ----------
        weights : sequence of float
            Shares, positive; divided by their sum.
        seed : int
            Has to be given. With the row's number it alone decides where a row goes: SplitMix64, see
            `penstock.io.fragments`. A record that could not be parsed goes with the row after it.
        stratify : str, optional
            A column of classes, as in `folds`: each part has its share of every class to within one row. The column
            is read now; a record that could not be parsed is set aside wherever a part is read.

        Raises
        ------
        ConfigError
            There is no seed, or a weight is not positive; with `stratify`, rows have no numbers (after
            `map_partitions`).

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> whole = ps.LocalEngine().from_arrow(pa.table({"x": range(1000), "rare": [True, *[False] * 99] * 10}))
        >>> train, test = whole.split([0.8, 0.2], seed=7)
        >>> train.count() + test.count()
        1000
        >>> train, test = whole.split([0.8, 0.2], seed=7, stratify="rare")
        >>> train.count(), sum(test.to_arrow()["rare"].to_pylist())
        (800, 2)
        """
        data = cast("Dataset", self)
        _check_weights(weights)
        seed = check_seed(seed)
        if stratify is not None:
            shares = [Fraction(weight) / sum(map(Fraction, weights)) for weight in weights]
            return _parts(data, stratify, seed, shares, "split")
        bounds = [0.0, *itertools.accumulate(w / math.fsum(weights) for w in weights)]
        bounds[-1] = 1.0
        return [_sampled(data, seed, low, high) for low, high in itertools.pairwise(bounds)]

    def sample(
        self,
        fraction: float | Mapping[Any, float] | None = None,
        *,
        n: int | None = None,
        seed: int | None = None,
        stratify: str | None = None,
    ) -> Dataset:
        """Return some of the rows, drawn at random without replacement, in their order.

        They are the same rows on every engine, device and partitioning.

        Parameters
        ----------
        fraction : float or mapping of class to float, optional
            Above 0, up to 1: about this share of the rows. Nothing is read; they are the first part of
            ``split([fraction, 1 - fraction], seed=seed)``. With `stratify` also a share of its own, from 0 to 1, of
            each class, null among them; of those not named no row is drawn, as by Spark's ``sampleBy``.
        n : int, optional
            Exactly so many rows; either this or `fraction` is given. Reads the dataset now, none of its columns.
        seed : int
            Has to be given. With the row's number it decides which rows are drawn.
        stratify : str, optional
            A column of classes, as in `folds`, which is read now: of each class its share is drawn, to within one row.

        Raises
        ------
        ConfigError
            `fraction` or `n` is out of range, or `n` more than there are rows; both are given, or neither; rows have no
            numbers (after `map_partitions`).
        SchemaError
            The column of classes is not there, or of another type.
        EmptyInputError
            There are no rows to draw `n` from, or classes.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> table = pa.table({"x": range(1000), "city": ["Ulm", "Bonn", "Bonn", "Bonn"] * 250})
        >>> whole = ps.LocalEngine(device="cpu").from_arrow(table)
        >>> whole.sample(n=5, seed=1).count(), whole.sample(0.1, seed=1).count()
        (5, 112)
        >>> whole.sample(0.1, seed=1, stratify="city").to_arrow()["city"].value_counts().to_pylist()
        [{'values': 'Bonn', 'counts': 75}, {'values': 'Ulm', 'counts': 25}]
        >>> whole.sample({"Ulm": 1.0, "Bonn": 0.2}, seed=1, stratify="city").count()
        400
        """
        data = cast("Dataset", self)
        seed = check_seed(seed)
        if (fraction is None) == (n is None):
            raise ConfigError("sample takes a fraction of the rows or their number n, one of the two")
        check_numbered(data.steps, "sample", HINT)
        if isinstance(fraction, Mapping):
            return _by_class(data, fraction, seed, stratify)
        if fraction is not None:
            _check_fraction(fraction)
            if stratify is None:
                return _sampled(data, seed, 0.0, float(fraction))
            share = Fraction(fraction)
            return _parts(data, stratify, seed, [share, 1 - share], "sample")[0]
        check_whole("n", n, 1)
        return _drawn(data, cast(int, n), seed, stratify)


def level(dataset: Dataset, seed: int) -> int:
    """Return a seed for rows that may be dealt already: a deal of a deal must not repeat the first."""
    return seed + SPLIT_STREAM * sum(isinstance(step, DealBlocks) for step in history(dataset.steps))


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise ConfigError unless a value is an integer of at least so much, and at most so much."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} is {value!r}, expected an integer of at least {least}")
    if most is not None and value > most:
        raise ConfigError(f"{name} is {value!r}, expected at most {most}")


def _check_weights(weights: Any) -> None:
    several = isinstance(weights, Iterable) and all(isinstance(weight, Number) for weight in weights)
    if not several or not len(weights) or any(not weight > 0 or not math.isfinite(weight) for weight in weights):
        problem = f"weights are {weights!r:.100}, expected a list of positive numbers, one for each part"
        raise ConfigError(problem, hint="Write split([0.8, 0.2], seed=7), say.")


def check_seed(seed: Any) -> int:
    """Return a seed; ConfigError unless it is an integer, as where none is given that rows could be drawn by again."""
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ConfigError(f"seed is {seed!r}, expected an integer", hint="Write seed=7, say: one gives the same rows.")
    return seed


def _refuse_without_time(window: Any, gap: Any, horizon: Any) -> None:
    for name, value, default in (("window", window, "expanding"), ("gap", gap, None), ("horizon", horizon, None)):
        if value != default:
            raise ConfigError(f"{name} is {value!r}, which is for folds by time", hint="Pass time, a column, with it.")


def _check_fraction(fraction: Any) -> None:
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction <= 1:
        raise ConfigError(
            f"fraction is {fraction!r}, expected a number above 0 and up to 1",
            hint="For a number of rows pass n=, by name.",
        )


def _by_class(dataset: Dataset, fractions: Mapping[Any, float], seed: int, stratify: str | None) -> Dataset:
    """Return of each class its fraction of the rows, to within half a row."""
    if stratify is None:
        problem = f"fraction is {dict(fractions)}, by class, and there is no column of classes"
        raise ConfigError(problem, hint="Name it by stratify.")
    for value, fraction in fractions.items():
        if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
            raise ConfigError(f"fraction of class {value!r} is {fraction!r}, expected a number from 0 to 1")
    dealer = by_fractions(dataset, stratify, level(dataset, seed), fractions, "sample")
    return dataset.with_step(DealBlocks(dealer)).with_step(InBlocks((0,)))


def _sampled(dataset: Dataset, seed: int, low: float, high: float) -> Dataset:
    """Return the rows whose hash is between two fractions, with nothing read."""
    seed += SPLIT_STREAM * dataset.reader.sampled_times  # a split of a split must not repeat the first
    return replace(dataset, reader=dataset.reader.sampled(Sample(seed, low, high)))


def _parts(dataset: Dataset, stratify: str, seed: int, shares: Sequence[Fraction], user: str) -> list[Dataset]:
    check_numbered(dataset.steps, user, HINT)
    dealer = stratified(dataset, stratify, level(dataset, seed), lambda _: shares, user)
    dealt = dataset.with_step(DealBlocks(dealer))
    return [dealt.with_step(InBlocks((part,))) for part in range(len(shares))]


def _drawn(dataset: Dataset, n: int, seed: int, stratify: str | None) -> Dataset:
    def shares(rows: int) -> list[Fraction]:
        if n > rows:
            raise ConfigError(f"n is {n}, but there are {rows} row(s) to draw from")
        return [Fraction(n, rows), Fraction(rows - n, rows)]

    dealer = stratified(dataset, stratify, level(dataset, seed), shares, "sample")
    return dataset.with_step(DealBlocks(dealer)).with_step(InBlocks((0,)))
