"""The time of a run before it runs, from records of smaller ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Self

import fsspec
from pydantic import TypeAdapter, ValidationError

from penstock.core.errors import ConfigError, CorruptFileError, MissingInputError
from penstock.core.locations import read_location
from penstock.core.several import several
from penstock.runs.placement.workload import Demand
from penstock.runs.run import Run
from penstock.runs.scaling.least_squares import LeastSquares
from penstock.runs.scaling.observation import RunObservation, ScanObservation, TrainObservation
from penstock.runs.scaling.prediction import Prediction, Size, SpanParts, SpanPrediction, TimeEstimate
from penstock.runs.scaling.scan_model import ScanModel
from penstock.runs.scaling.train_model import TrainModel

LEAST_SPREAD = 0.05
"""The least `spread` that is believed: by how much a run differs from the same run on another day."""
_OF_PARTS = 1.5
"""Phases differ so many times as much as the span that they are parts of: what one takes less, another takes more."""
_BEYOND = 0.05
"""Beyond the rows of the records a time may grow with their number to the power 1 plus or minus this: what no longer
fits a cache is slower, and no smaller run tells."""
_NEAR_BEST = 1.05
_MOST_WORKERS = 1024


@dataclass(frozen=True, kw_only=True)
class ScalingModel:
    """What runs of one job take, by their rows and workers; `ScalingModel.fit` makes it.

    ``T = driver + sum(scans) + sum(trainings)``, one after another. A scan is what list scheduling makes of its tasks,
    whose work is ``a + b * rows``, with its merges, and a rest that grows with tasks. A training is what ranks compute,
    ``a + b * rows / ranks``, times how much slower the slowest is, and what they exchange, which grows with ranks. So
    the whole is ``serial + work / workers + communication``, and a tail.

    Attributes
    ----------
    spans : mapping of str to ScanModel or TrainModel
    driver : LeastSquares
        Seconds in which there is no scan and no training, by 1 and rows.
    memory : LeastSquares
        Bytes of a worker, by 1 and its rows.
    spread : float
        Standard deviation of the time of a span, relative to what is predicted of the runs that it was fitted to.
    rows : int
        Of the largest of these runs.
    fragment_rows : int
        Of the largest fragment of these runs.
    workers : tuple of int
        The numbers of workers of these runs.
    start : float, default 0
        Seconds that a run takes besides, which these did not.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> engine = ps.LocalEngine(device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for rows in (1_000, 2_000):
    ...         data = engine.from_arrow(pa.table({"x": range(rows)}), fragment_bytes=4_000)
    ...         with ps.runs.record(folder):
    ...             table = data.to_arrow()
    ...     model = ScalingModel.fit(ps.runs.RunStore(folder))
    >>> prediction = model.predict(8_000)
    >>> prediction.interval[0] < prediction.seconds < prediction.interval[1]
    True
    >>> [span.name for span in prediction.spans]
    ['read', 'driver']
    """

    spans: Mapping[str, ScanModel | TrainModel]
    driver: LeastSquares
    memory: LeastSquares
    spread: float
    rows: int
    fragment_rows: int
    workers: tuple[int, ...]
    start: float = 0.0

    @classmethod
    def fit(cls, runs: Iterable[Run], *, start: float = 0.0) -> Self:
        """Return the model of some runs of one job, on one engine and one kind of machine.

        Parameters
        ----------
        runs : iterable of Run
            Two sizes at least tell what grows with rows from what does not, and several numbers of workers how
            communication grows: of runs with one number none is known of. Failed runs are left out.
        start : float, default 0
            Seconds that a run takes besides, which these did not.

        Raises
        ------
        ConfigError
            No run has ended well and has a scan or a training.
        """
        observed = [RunObservation.of(run) for run in several(runs, "runs", "Iterable[Run]") if run.status == "done"]
        if not any(run.spans for run in observed):
            problem = f"there are {len(observed)} runs that have ended well, and none has a scan or a training"
            raise ConfigError(problem, hint="Record a fit of two sizes: penstock calibrate, or ps.runs.record.")
        rows_of_worker = [(1, run.rows / run.workers) for run in observed]
        model = cls(
            spans=dict(_span_models(observed)),
            driver=LeastSquares.fit([(1, run.rows) for run in observed], [run.driver for run in observed]),
            memory=LeastSquares.fit(rows_of_worker, [run.memory for run in observed]),
            spread=LEAST_SPREAD,
            rows=max(run.rows for run in observed),
            fragment_rows=max(rows for run in observed for rows in run.fragments),
            workers=tuple(sorted({run.workers for run in observed})),
            start=start,
        )
        return replace(model, spread=max(LEAST_SPREAD, model._spread_of(observed)))

    def predict(
        self, rows: int | Sequence[int], *, workers: int | None = None, speed: float = 1.0, level: float = 0.95
    ) -> Prediction:
        """Return what a run takes.

        Parameters
        ----------
        rows : int, or sequence of int
            In all, in fragments as large as those of the records; or those of each fragment.
        workers : int, optional
            How many tasks run at the same time: ``engine.slots``. The most of the records, unless given.
        speed : float, default 1.0
            Of a worker, relative to those of the records.
        level : float, default 0.95
            Confidence of the intervals. They hold what the lines through the records may be off, how much tasks
            differ, how much runs do (`spread`), and that a time need not grow as rows do beyond those of the records.

        Raises
        ------
        ConfigError
            Rows, workers or speed are not positive, or level is not between 0 and 1.
        """
        size = self._size(rows, max(self.workers) if workers is None else workers, speed)
        if not 0 < level < 1:
            raise ConfigError(f"level is {level!r}, expected a number between 0 and 1")
        deviations = NormalDist().inv_cdf((1 + level) / 2)
        parts = self._parts(size)
        beyond = _BEYOND * max(0.0, math.log(size.rows / self.rows)) if self.rows else 0.0
        spans = tuple(self._span(name, part, deviations, beyond) for name, part in parts.items())
        trainings = [part for name, part in parts.items() if isinstance(self.spans.get(name), TrainModel)]
        return Prediction(
            rows=size.rows,
            workers=size.workers,
            seconds=sum(span.seconds for span in spans),
            interval=(sum(span.interval[0] for span in spans), sum(span.interval[1] for span in spans)),
            spans=spans,
            serial=sum(part.serial for part in parts.values()),
            communication=sum(part.communicate for part in parts.values()),
            one_worker=self._seconds(replace(size, workers=1)),
            memory=round(self.memory.value((1, size.rows / size.workers))),
            train=sum(part.seconds - part.serial - part.communicate for part in trainings),
        )

    def best_workers(self, rows: int | Sequence[int], *, most: int = _MOST_WORKERS, speed: float = 1.0) -> int:
        """Return the fewest workers whose time is at most a twentieth over the least.

        Parameters
        ----------
        rows, speed
            As of `predict`.
        most : int, default 1024
            The largest number that is tried; above 16 they are a tenth apart.
        """
        size = self._size(rows, 1, speed)
        times = {each: self._seconds(replace(size, workers=each)) for each in _candidates(most)}
        least = min(times.values())
        return next(each for each, seconds in times.items() if seconds <= _NEAR_BEST * least)

    def workload(self, rows: int | Sequence[int]) -> ScaledRun:
        """Return a run of so many rows, as placement takes it."""
        return ScaledRun(self, rows)

    def save(self, path: str | Path) -> None:
        """Write it to a file or URL, as JSON."""
        with fsspec.open(read_location(path, "path"), "wb") as file:
            file.write(_adapter().dump_json(self, indent=1))

    @classmethod
    def load(cls, path: str | Path) -> ScalingModel:
        """Return the model of a file or URL.

        Raises
        ------
        MissingInputError
            There is no such file.
        CorruptFileError
            It is not what `save` writes.
        """
        location = read_location(path, "path")
        try:
            with fsspec.open(location, "rb") as file:
                return _adapter().validate_json(file.read())
        except FileNotFoundError as error:
            hint = "Make it: penstock calibrate PIPELINE --data DATA --out FILE."
            raise MissingInputError(f"{location} is not there", hint=hint, path=location) from error
        except ValidationError as error:
            problem = f"{location} is no calibration: {error.error_count()} values are not as expected"
            raise CorruptFileError(problem, hint="Make it anew with penstock calibrate.", path=location) from error

    def _size(self, rows: int | Sequence[int], workers: int, speed: float) -> Size:
        fragments = _fragments(rows, self.fragment_rows or rows) if isinstance(rows, int) else tuple(rows)
        for name, value in (("rows", sum(fragments)), ("workers", workers), ("speed", speed)):
            if value <= 0:
                raise ConfigError(f"{name} is {value}, expected a positive number")
        return Size(rows=sum(fragments), fragments=fragments, workers=workers, speed=speed)

    def _parts(self, size: Size) -> dict[str, SpanParts]:
        """Return what each span takes, and what none does."""
        point = (1, size.rows)
        seconds = self.start + self.driver.value(point) / size.speed
        driver = SpanParts(
            phases={"driver": seconds}, serial=seconds, communicate=0.0, deviation=self.driver.deviation(point)
        )
        return {name: each.predict(size) for name, each in self.spans.items()} | {"driver": driver}

    def _seconds(self, size: Size) -> float:
        return sum(part.seconds for part in self._parts(size).values())

    def _span(self, name: str, part: SpanParts, deviations: float, beyond: float) -> SpanPrediction:
        deviation = math.hypot(self.spread * part.deviation, self.spread * part.seconds, part.spread)
        relative = deviations * deviation / part.seconds + beyond if part.seconds else 0.0
        phases = {phase: _estimate(seconds, _OF_PARTS * relative) for phase, seconds in part.phases.items()}
        whole = _estimate(part.seconds, relative)
        return SpanPrediction(seconds=whole.seconds, interval=whole.interval, name=name, phases=phases)

    def _spread_of(self, observed: Sequence[RunObservation]) -> float:
        """Return the standard deviation of spans from what is predicted of them, relative to that."""
        errors, expected = 0.0, 0.0
        for run in observed:
            parts = self._parts(Size(rows=run.rows, fragments=run.fragments, workers=run.workers))
            times = {"driver": run.driver + self.start} | {span.name: span.seconds for span in run.spans}
            errors += sum((seconds - parts[name].seconds) ** 2 for name, seconds in times.items())
            expected += sum(parts[name].seconds ** 2 for name in times)
        freedom = len(observed) / max(1, len(observed) - 2)  # two coefficients are fitted to most of it
        return math.sqrt(freedom * errors / expected) if expected else 0.0


@dataclass(frozen=True)
class ScaledRun:
    """A run of some rows, for placement: what it takes on any number of workers."""

    model: ScalingModel
    rows: int | Sequence[int]

    @property
    def memory(self) -> int:
        """Bytes of memory that a worker needs, of those that the records had."""
        return self.model.predict(self.rows).memory

    def demand(self, workers: int) -> Demand:
        """Return what a run on so many workers takes."""
        found = self.model.predict(self.rows, workers=workers)
        return Demand(
            serial=found.serial,
            communicate=found.communication,
            train=found.train,
            tasks=(found.parallel - found.train) * workers,
            spread=(found.interval[0] / found.seconds, found.interval[1] / found.seconds),
        )


def _span_models(observed: Sequence[RunObservation]) -> Iterator[tuple[str, ScanModel | TrainModel]]:
    for name in dict.fromkeys(span.name for run in observed for span in run.spans):
        spans = [(run, span) for run in observed for span in run.spans if span.name == name]
        scans = [(run, span) for run, span in spans if isinstance(span, ScanObservation)]
        trainings = [(run, span) for run, span in spans if isinstance(span, TrainObservation)]
        yield name, ScanModel.fit(scans) if scans else TrainModel.fit(trainings)


def _fragments(rows: int, most: int) -> tuple[int, ...]:
    """Return rows cut evenly into fragments of at most so many."""
    count = max(1, math.ceil(rows / most)) if most > 0 else 1
    return tuple(rows * (place + 1) // count - rows * place // count for place in range(count))


def _candidates(most: int) -> Iterator[int]:
    workers = 1
    while workers <= most:
        yield workers
        workers = workers + 1 if workers < 16 else math.ceil(workers * 1.1)


def _estimate(seconds: float, relative: float) -> TimeEstimate:
    """Return seconds with an interval that is as wide on both sides as a factor: it has no negative times."""
    factor = math.exp(relative)
    return TimeEstimate(seconds=seconds, interval=(seconds / factor, seconds * factor))


def _adapter() -> TypeAdapter[ScalingModel]:
    return TypeAdapter(ScalingModel)
