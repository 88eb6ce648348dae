"""An engine that is no part of the package, and has no queries: threads, one for each core."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Literal

from penstock import devices
from penstock.core.progress import Progress
from penstock.dataset.task_errors import translate_errors
from penstock.engines.base import Engine, Item, Result
from penstock.engines.settings import EngineSettings


class ToyEngine(Engine):
    """Runs tasks in a pool of threads."""

    name: ClassVar[str] = "toy"
    in_process: ClassVar[bool] = True

    def __init__(self, *, device: str = "auto", threads: int = 2, progress: Progress | None = None) -> None:
        self.device, self.progress = devices.choose(device), progress or Progress()
        self._pool, self._threads = ThreadPoolExecutor(threads), threads

    @property
    def slots(self) -> int:
        return self._threads

    def map(self, task: Callable[[Item], Result], items: Sequence[Item], *, label: str = "map") -> Iterator[Result]:
        return iter(self._pool.map(translate_errors(task), items))

    def close(self) -> None:
        self._pool.shutdown()


class ToySettings(EngineSettings, frozen=True):
    """The parameters of `ToyEngine`."""

    engine: Literal["toy"] = "toy"
    threads: int | None = None

    def start(self, progress: Progress | None) -> Engine:
        return ToyEngine(**self.arguments(), progress=progress)
