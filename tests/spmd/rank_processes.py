"""Ranks as local processes, which can be killed or frozen."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.core.progress import Progress
from penstock.dataset import Dataset
from penstock.engines.local import LocalEngine
from penstock.spmd import Assignment, Body, RankAssignment, SpmdOptions, run_gang, run_rank

_SLOW_TO_IMPORT = ["torch.distributed.fsdp", "torch.distributed.pipelining"]


@dataclass
class Processes:
    """Starts each rank as a process, which has PyTorch from the first on."""

    alive: list[Any] = field(default_factory=list)

    def __call__(self, places: Sequence[RankAssignment], assignment: Assignment) -> Processes:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_SLOW_TO_IMPORT)
        self.alive = [context.Process(target=run_rank, args=(each, assignment), daemon=True) for each in places]
        for process in self.alive:
            process.start()
        return self

    def problem(self) -> str | None:
        dead = [process.exitcode for process in self.alive if process.exitcode]
        return f"a process ended with {dead[0]}" if dead else None

    def stop(self) -> None:
        for process in self.alive:
            process.join(timeout=2)
            process.kill()
            process.join()


class GangEngine(LocalEngine):
    """Trains on as many processes as are asked for."""

    name = "gang"

    def __init__(self, device: str = "cpu", progress: Progress | None = None) -> None:
        super().__init__(device=device, progress=progress)
        self.launch = Processes()

    def ranks(self, options: SpmdOptions, *, label: str = "train") -> int:
        return options.world_size or 1

    def spmd(self, body: Body, datasets: Mapping[str, Dataset], options: SpmdOptions, *, label: str = "train") -> Any:
        size = self.ranks(options)
        return run_gang(self.launch, body, datasets, options, self, size=size, threads=1, host="127.0.0.1", label=label)
