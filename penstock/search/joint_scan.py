"""One scan for all trials and folds: each statistic of each set of rows once, whoever asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.core.errors import PenstockError
from penstock.core.names import ROW
from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.blocks import InBlocks
from penstock.dataset.step_tree import NodeSummary, StepNode, chain, merge_blocks, summarise_tree
from penstock.dataset.steps import RowLog, Step, check_numbered, prune
from penstock.pipeline.fusion import Pass, StatisticRequest
from penstock.statistics.base import State, Statistic

Key = tuple[Any, ...]
"""What was asked for: the blocks, the steps, the statistic."""


@dataclass(frozen=True)
class ScanAnswer:
    """The result of a statistic, or why there is none; and what became of the rows."""

    result: Any
    error: PenstockError | None
    log: RowLog

    def value(self) -> Any:
        """Return the result; raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


@dataclass
class _Place:
    """Some rows, after some steps, and what is asked of them; where there are `blocks`, of each of them."""

    step: Step | None = None
    blocks: set[int] = field(default_factory=set)
    asked: dict[Statistic, int] = field(default_factory=dict)
    children: dict[Any, _Place] = field(default_factory=dict)

    def below(self, key: Any, step: Step) -> _Place:
        """Return the place after one more step."""
        return self.children.setdefault(key, _Place(step))

    def walk(self) -> Iterator[_Place]:
        """Yield this place and those below it, in the order of `StepNode.walk`."""
        yield self
        for child in self.children.values():
            yield from child.walk()

    @property
    def scan(self) -> Pass:
        """What is gathered here, statistics of one kind as one."""
        return Pass.of([StatisticRequest(number, "", statistic, 0) for statistic, number in self.asked.items()])

    def node(self) -> StepNode:
        """Return the place as a node of the tree that travels to workers."""
        statistics = tuple(gather.statistic for gather in self.scan.gathers)
        children = tuple(child.node() for child in self.children.values())
        return StepNode(self.step, statistics, tuple(sorted(self.blocks)), children)


class JointScan:
    """Statistics of several sets of rows, after several steps, all gathered in one scan.

    Parameters
    ----------
    dealt : Dataset
        Rows whose blocks are noted.
    """

    def __init__(self, dealt: Dataset) -> None:
        self._dealt, self._root = dealt, _Place()
        self._asked: dict[Key, tuple[_Place, tuple[int, ...], Statistic]] = {}

    @property
    def places(self) -> int:
        """How many statistics are gathered, each of one set of rows or of every block."""
        return sum(len(place.asked) for place in self._root.walk())

    def ask(self, blocks: tuple[int, ...], steps: Sequence[Step], statistic: Statistic) -> Key:
        """Ask for a statistic of the rows of `blocks` after `steps`, as far as they matter; return what to look up.

        Before any step, the rows of several folds have blocks in common: these are gathered one by one, once for all.
        """
        if ROW in statistic.reads:
            hint = "Name a column of folds instead, or write the rows to Parquet and read them again."
            check_numbered([*self._dealt.steps, *steps], "a statistic", hint)
        steps = prune(steps, statistic.reads)[0]
        key = (blocks, tuple(map(id, steps)), statistic)
        if key not in self._asked:
            place = self._place(blocks, steps)
            place.asked.setdefault(statistic, len(place.asked))
            self._asked[key] = place, blocks, statistic
        return key

    def _place(self, blocks: tuple[int, ...], steps: Sequence[Step]) -> _Place:
        place = self._root
        if steps:
            place = place.below(blocks, InBlocks(blocks))
        for step in steps:
            place = place.below(id(step), step)
        if len(blocks) > 1 or not steps:
            place.blocks.update(blocks)
        return place

    def run(self, label: str) -> Mapping[Key, ScanAnswer]:
        """Return what was asked for."""
        if not self._asked:
            return {}
        root = self._root.node()
        before = [StepNode(step) for step in prune(self._dealt.steps, tuple(root.reads()))[0]]
        summaries = summarise_tree(self._dealt, chain([*before, root]), label)[len(before) :]
        gathered = {
            id(place): (place, node, summary)
            for place, node, summary in zip(self._root.walk(), root.walk(), summaries, strict=True)
        }
        answers: dict[Key, ScanAnswer] = {}
        states: dict[Any, Mapping[Statistic, State]] = {}
        for key, (place, blocks, statistic) in self._asked.items():
            _, node, summary = gathered[id(place)]
            if summary.error is None and (id(place), blocks) not in states:
                states[id(place), blocks] = _states(place, node, summary, blocks)
            answers[key] = _answer(statistic, states.get((id(place), blocks)), node, summary, blocks)
        return answers


def _states(place: _Place, node: StepNode, summary: NodeSummary, blocks: tuple[int, ...]) -> Mapping[Statistic, State]:
    """Return the state of each statistic that was asked for at a place, over the rows of `blocks`."""
    states = merge_blocks(node, summary, blocks) if node.blocks else summary.states[0]
    statistics = list(place.asked)
    return {statistics[request.stage]: state for request, state in place.scan.answers([states])}


def _answer(
    statistic: Statistic,
    states: Mapping[Statistic, State] | None,
    node: StepNode,
    summary: NodeSummary,
    blocks: tuple[int, ...],
) -> ScanAnswer:
    if states is None:
        return ScanAnswer(None, summary.error, summary.log)
    log = summary.log
    if node.blocks:
        rows = sum(summary.rows[node.blocks.index(block)] for block in blocks)
        log = RowLog(rows, rows) if node.step is None else log
    try:
        return ScanAnswer(statistic.finish(states[statistic]), None, log)
    except PenstockError as error:
        return ScanAnswer(None, error, log)
