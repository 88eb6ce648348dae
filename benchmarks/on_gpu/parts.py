"""The parts of `gpu.py`, the most telling first: a work, and who does it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

DATA = "data"
SUITE = "suite"


@dataclass(frozen=True)
class Part:
    """A work and who does it, in a process of its own.

    Parameters
    ----------
    work, side : str
        The work, and who does it: our library on a ``gpu`` or the ``cpu``, cuDF and cuML by hand (``rapids``), or the
        GPU engine of Polars (``polars``).
    module : str
        Where the work is found, in its ``WORKS``.
    share : float
        Its share of the time, beside the shares of the other parts.
    device : {"cpu", "gpu"}
        Where it is done; all is done on the CPU in a rehearsal.
    needs : sequence of str
        Packages that it imports and that may not be installed.
    reads : str, optional
        The part that makes its data.
    only_on_gpu : bool
        Whether a rehearsal leaves it out.
    """

    work: str
    side: str
    module: str
    share: float = 1.0
    device: str = "gpu"
    needs: Sequence[str] = ()
    reads: str | None = None
    only_on_gpu: bool = False

    @property
    def name(self) -> str:
        """``work.side``, as ``--only`` takes it."""
        return f"{self.work}.{self.side}"

    @property
    def once(self) -> bool:
        """Whether it is run once and not compared: it makes data, or counts tests."""
        return self.work in (DATA, SUITE)

    def why_not(self, *, rehearsed: bool) -> str | None:
        """Return why this part cannot run here, or None."""
        missing = [name for name in self.needs if find_spec(name) is None]
        if missing and not (rehearsed and not self.only_on_gpu):
            return f"not installed: {', '.join(missing)}"
        return "needs a GPU, which a rehearsal has not" if rehearsed and self.only_on_gpu else None


def _ours(work: str, reads: str, on_cpu: float = 3.0) -> list[Part]:
    gpu = Part(work, "gpu", "benchmarks.on_gpu.ours", 2.0, reads=reads)
    return [gpu, Part(work, "cpu", "benchmarks.on_gpu.ours", on_cpu, "cpu", reads=reads)]


def _by_hand(work: str, reads: str, *needs: str) -> Part:
    return Part(work, "rapids", "benchmarks.on_gpu.rapids", needs=("cudf", *needs), reads=reads, only_on_gpu=True)


def _polars(work: str, reads: str) -> Part:
    return Part(work, "polars", "benchmarks.on_gpu.polars", needs=("cudf_polars",), reads=reads)


# Without their data all others are lost, so that these may take long; what they leave goes to the others.
CLICKS = Part(DATA, "clicks", "benchmarks.on_gpu.data", 12.0, "cpu")
PREPARED = Part(DATA, "prepared", "benchmarks.on_gpu.data", 12.0, "cpu", reads="data.clicks")
_RAW, _NUMBERS = CLICKS.name, PREPARED.name
PARTS: tuple[Part, ...] = (
    CLICKS,
    *_ours("fit", _RAW),
    PREPARED,
    *_ours("train", _NUMBERS, 5.0),
    *_ours("transform", _NUMBERS),
    _by_hand("fit", _RAW),
    _by_hand("train", _NUMBERS, "xgboost"),
    _polars("fit", _RAW),
    *_ours("logistic", _NUMBERS),
    _by_hand("logistic", _NUMBERS, "cuml"),
    *_ours("kmeans", _NUMBERS, 4.0),
    _by_hand("kmeans", _NUMBERS, "cuml"),
    *_ours("forest", _NUMBERS, 4.0),
    _by_hand("forest", _NUMBERS, "cuml"),
    *_ours("evaluate", _NUMBERS),
    _by_hand("evaluate", _NUMBERS, "cuml"),
    _by_hand("transform", _NUMBERS),
    _polars("transform", _NUMBERS),
)
TESTS = Part(SUITE, "penstock", "benchmarks.on_gpu.suite", 20.0)


def choose_parts(only: str = "", *, suite: bool = False, parts: Sequence[Part] = PARTS) -> list[Part]:
    """Return the parts that are asked for, with those that make their data; the tests come last.

    Parameters
    ----------
    only : str
        Works or parts (``train``, ``train.gpu``), by comma; all unless given.
    suite : bool
        Whether the tests are run.

    Raises
    ------
    ValueError
        A name is none of them.
    """
    every = [*parts, TESTS]
    known = {name: None for part in every for name in (part.work, part.name)}
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(f"--only has {', '.join(unknown)}, expected some of {', '.join(known)}")
    chosen = [part for part in every if {part.work, part.name} & set(wanted)] if wanted else list(parts)
    needed = _with_data(chosen, every) | ({TESTS.name} if suite else set())
    return [part for part in every if part.name in needed]


def _with_data(chosen: Iterable[Part], parts: Iterable[Part]) -> set[str]:
    """Return the names of parts, and of those that they read from, directly or not."""
    reads = {part.name: part.reads for part in parts}
    names: set[str] = set()
    for part in chosen:
        name: str | None = part.name
        while name is not None:
            names.add(name)
            name = reads[name]
    return names
