"""One scan of steps that part ways: statistics of many sets of rows, each step run once for all that come after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw

from penstock import devices
from penstock.core.errors import DataValueError, MemoryLimitError, PenstockError
from penstock.core.names import BLOCK
from penstock.core.scheduler import reduce_all
from penstock.dataset import steps
from penstock.dataset.folds.blocks import chosen_blocks, rows_in
from penstock.dataset.steps import RowLog, Step
from penstock.dataset.tasks import SummariseTask, in_order
from penstock.frames import ROW, Kind
from penstock.io.fragments import Fragment
from penstock.io.sources.base import Reader
from penstock.statistics.base import State, Statistic
from penstock.statistics.distinct.partitionable import as_partitionable

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class StepNode:
    """A step, the statistics of the rows that it gives, and the nodes that take these rows further.

    Attributes
    ----------
    step : Step or None
        None for rows as they come.
    statistics : tuple of Statistic
    blocks : tuple of int
        Gather over each of these blocks by itself; over all rows together where there are none.
    children : tuple of StepNode
    """

    step: Step | None
    statistics: tuple[Statistic, ...] = ()
    blocks: tuple[int, ...] = ()
    children: tuple[StepNode, ...] = ()

    def reads(self) -> frozenset[str]:
        """Return the columns that have to come in."""
        need: frozenset[str] = frozenset([BLOCK] if self.blocks else [])
        need = need.union(
            *(statistic.reads for statistic in self.statistics), *(each.reads() for each in self.children)
        )
        columns = None if self.step is None else self.step.needs(need)
        return need if columns is None else columns

    def walk(self) -> Iterator[StepNode]:
        """Yield this node and all below it, each before those below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class NodeSummary:
    """What a node gathered.

    Attributes
    ----------
    states : list of list of State
        For each block, or once for all rows, the state of every statistic.
    rows : list of int
        How many rows each of these sets has.
    log : RowLog
        What became of rows on the way.
    error : PenstockError or None
        Why nothing could be gathered here; other nodes are not concerned.
    """

    states: list[list[State]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    log: RowLog = field(default_factory=RowLog)
    error: PenstockError | None = None


@dataclass(frozen=True)
class TreeTask:
    """Gives the summary of every node of a tree, in the order of `StepNode.walk`, from one read of a fragment."""

    reader: Reader
    root: StepNode
    kind: Kind = "cpu"

    def __call__(self, fragment: Fragment) -> list[NodeSummary]:
        """Summarise one fragment."""
        devices.use(self.kind)
        with steps.host_types((), self.reader.source.schema, self.kind):
            summaries = self._attempt(fragment, ())
            if any(_lacks_row(summary.error) for summary in summaries):
                summaries = self._attempt(fragment, (ROW,))
        for summary in summaries:
            summary.log.tables.clear()
            summary.log.gathered.clear()
            summary.error = summary.error and steps.placed(summary.error, fragment)
        return summaries

    def _attempt(self, fragment: Fragment, extra: tuple[str, ...]) -> list[NodeSummary]:
        log = RowLog()
        try:
            columns = dict.fromkeys((*in_order(self.root.reads(), self.reader), *extra))
            frame = self.reader.read_accounted(fragment, list(columns), self.kind, log)
        except PenstockError as error:
            raise steps.placed(error, fragment) from error.__cause__
        return list(_summaries(self.root, frame, log, frozenset(extra)))

    def merge(self, parts: list[list[NodeSummary]]) -> list[NodeSummary]:
        """Merge what several fragments gave, in their order; the list is emptied."""
        by_node = list(zip(self.root.walk(), zip(*parts, strict=True), strict=True))
        parts.clear()
        return [_merged(node, summaries) for node, summaries in by_node]


def _lacks_row(error: PenstockError | None) -> bool:
    return isinstance(error, DataValueError) and error.predicate is not None and error.row is None


def _summaries(node: StepNode, frame: nw.DataFrame[Any], log: RowLog, extra: frozenset[str]) -> Iterator[NodeSummary]:
    """Yield the summaries of a node and of all below it."""
    log = RowLog(log.read, 0, dict(log.dropped), dict(log.quarantined))
    try:
        if node.step is not None:
            frame = steps.run([node.step], _narrowed(frame, node.reads() | extra), log)
        yield _summary(node, frame, log)
    except MemoryLimitError:
        raise
    except PenstockError as error:
        yield from (NodeSummary(error=error) for _ in node.walk())
        return
    for child in node.children:
        yield from _summaries(child, frame, log, extra)


def _narrowed(frame: nw.DataFrame[Any], columns: frozenset[str]) -> nw.DataFrame[Any]:
    """Return the columns that are used from here on, so that a filter copies no others; one for their number."""
    names = [name for name in frame.columns if name in columns]
    return frame.select(names or frame.columns[:1])


def _summary(node: StepNode, frame: nw.DataFrame[Any], log: RowLog) -> NodeSummary:
    if not node.statistics:
        return NodeSummary(log=log)
    sets = [rows_in(frame, (block,)) for block in node.blocks] or [frame]
    try:
        states = [[statistic.summarise(rows) for statistic in node.statistics] for rows in sets]
    except DataValueError as error:
        raise steps.with_row(error, frame) from error.__cause__
    log.kept = sum(map(len, sets))
    return NodeSummary(states, [len(rows) for rows in sets], log)


def _merged(node: StepNode, summaries: Sequence[NodeSummary]) -> NodeSummary:
    failed = next((summary for summary in summaries if summary.error is not None), None)
    if failed is not None:
        return failed
    log = RowLog()
    for summary in summaries:
        log.add(summary.log)
    states = [
        [
            _merged_states(statistic, [summary.states[block][place] for summary in summaries])
            for place, statistic in enumerate(node.statistics)
        ]
        for block in range(len(summaries[0].states))
    ]
    rows = [sum(counts) for counts in zip(*(summary.rows for summary in summaries), strict=True)]
    return NodeSummary(states, rows, log)


def _merged_states(statistic: Statistic, states: list[State]) -> State:
    return states[0] if len(states) == 1 else as_partitionable(statistic).merge_consuming(states)


def merge_blocks(node: StepNode, summary: NodeSummary, blocks: Sequence[int]) -> list[State]:
    """Return the state of each statistic over the rows of `blocks`, which are some of the node's, in their order."""
    places = [node.blocks.index(block) for block in blocks]
    return [
        _merged_states(statistic, [summary.states[place][number] for place in places])
        for number, statistic in enumerate(node.statistics)
    ]


def summarise_tree(dataset: Dataset, root: StepNode, label: str) -> list[NodeSummary]:
    """Return the summary of every node of a tree, in the order of `StepNode.walk`, from one scan.

    The tree begins at the rows as they are read: what steps the dataset has are for it to take or to leave.
    """
    task = TreeTask(dataset.reader, root, dataset.engine.kind)
    return reduce_all(dataset.engine, task, task.merge, dataset.fragments, label=label)


def probe_blocks(
    work: SummariseTask, summarise: Callable[[StepNode], list[NodeSummary]]
) -> tuple[list[list[State]], RowLog]:
    """Return what a scan of one chain of steps gives, where the rows are known to be of several blocks.

    Statistics are gathered over each block, and merged in the order of the blocks.
    """
    root = _chained(work)
    gathered = [(node, summary) for node, summary in zip(root.walk(), summarise(root), strict=True) if node.statistics]
    for _, summary in gathered:
        if summary.error is not None:
            raise summary.error
    states = [
        merge_blocks(node, summary, node.blocks) if node.blocks else summary.states[0] for node, summary in gathered
    ]
    return states, gathered[-1][1].log


def _chained(work: SummariseTask) -> StepNode:
    """Return a node for each step that is run, below one another, with the statistics where they are gathered."""
    nodes = [StepNode(None)]
    for ahead, probe in zip(work.plan()[0], work.probes, strict=True):
        nodes += map(StepNode, ahead)
        blocks = chosen_blocks(work.steps[: probe.position])
        nodes[-1] = replace(nodes[-1], statistics=probe.statistics, blocks=blocks)
    return chain(nodes)


def chain(nodes: Sequence[StepNode]) -> StepNode:
    """Return nodes put one below the other."""
    first, *rest = nodes
    return replace(first, children=(chain(rest),)) if rest else first
