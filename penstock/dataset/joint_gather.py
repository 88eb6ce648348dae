"""Statistics of several datasets that are made of the same rows, such as those that two models score, from one scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.dataset.dataset import Dataset
from penstock.dataset.folds.blocks import InBlocks
from penstock.dataset.step_tree import NodeSummary, StepNode, summarise_tree
from penstock.dataset.steps import RowLog, Step, history, prune
from penstock.statistics.base import State, Statistic

Gathered = tuple[list[State], RowLog]


def gather_each(
    datasets: Sequence[Dataset], statistics: Sequence[Sequence[Statistic]], label: str = "scan"
) -> list[Gathered]:
    """Return for each dataset the states of its statistics, and what became of its rows, as `Dataset.gather` does.

    Datasets of the same rows, which differ in what is done to them, are read once, and steps that they have in common
    are done once. Others, and those of folds, are read one after the other.

    Raises
    ------
    PenstockError
        As of `Dataset.gather`, for the first dataset of which there is nothing.
    """
    if not _share_rows(datasets):
        return [each.gather(wanted, label) for each, wanted in zip(datasets, statistics, strict=True)]
    root, leaves = _Branch(), []
    for dataset, wanted in zip(datasets, statistics, strict=True):
        reads = {name for statistic in wanted for name in statistic.reads}
        leaves.append(root.grow(prune(dataset.steps, tuple(reads))[0], tuple(wanted)))
    tree = root.node()
    summaries = summarise_tree(datasets[0], tree, label)
    by_leaf = {id(node): summary for node, summary in zip(tree.walk(), summaries, strict=True)}
    return [_gathered(by_leaf[id(leaf)]) for leaf in leaves]


def _share_rows(datasets: Sequence[Dataset]) -> bool:
    first = datasets[0]
    return all(
        each.reader is first.reader
        and each.fragments is first.fragments
        and not any(isinstance(step, InBlocks) for step in history(each.steps))
        for each in datasets
    )


def _gathered(summary: NodeSummary) -> Gathered:
    if summary.error is not None:
        raise summary.error
    return summary.states[0], summary.log


@dataclass
class _Branch:
    """A step, the steps that are done to its rows, and the statistics of them that are asked for."""

    step: Step | None = None
    branches: dict[int, _Branch] = field(default_factory=dict)
    leaves: list[StepNode] = field(default_factory=list)

    def grow(self, steps: Sequence[Step], statistics: tuple[Statistic, ...]) -> StepNode:
        """Return the node of some statistics of the rows after more steps."""
        if not steps:
            self.leaves.append(StepNode(None, statistics))
            return self.leaves[-1]
        return self.branches.setdefault(id(steps[0]), _Branch(steps[0])).grow(steps[1:], statistics)

    def node(self) -> StepNode:
        """Return the tree as it travels to workers."""
        return StepNode(self.step, children=(*self.leaves, *(each.node() for each in self.branches.values())))
