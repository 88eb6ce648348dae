"""A stage over dense vectors: whatever it is asked for, it is asked as one over the elements, under their names.

What it has learned says so: beside its own state it has the lengths of the vectors. Where there are none, each function
here does what the stage does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.core.names import element_names
from penstock.dataset.steps import Step
from penstock.frames.elements import pack, packed
from penstock.spmd import Rank
from penstock.spmd.assignment import DataShare
from penstock.spmd.prepared import Prepared
from penstock.spmd.rank import Batch
from penstock.stages.base import ColumnStage, Fitted, RowFunction, Stage, with_fields
from penstock.stages.capabilities import HasOnnx, NumbersTaker, WarmStart
from penstock.stages.class_weights import weighed
from penstock.stages.features import is_dense
from penstock.stages.trainer import Trainer
from penstock.stages.vectors.elements import ElementResults, ElementStatistics, VectorElements
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.stages.onnx_graph import OnnxGraph

SIZES = "vector_sizes"
"""What the lengths of the vectors are called in what is learned, and `ElementStatistics` among what is asked for."""


LONGEST = 2**20
"""No vector is longer."""


def dense_vectors(stage: Stage, schema: pa.Schema) -> tuple[str, ...]:
    """Return the dense vectors among the columns of numbers of a bound stage.

    Examples
    --------
    >>> from penstock.stages import KMeans
    >>> schema = pa.schema({"x": pa.int64(), "v": pa.list_(pa.float32())})
    >>> dense_vectors(KMeans(["x", "v"]).bind(schema), schema)
    ('v',)
    """
    if not stage.tags.vectors or not any(map(pa.types.is_list, schema.types)):
        return ()
    return tuple(name for name in cast(NumbersTaker, stage).number_columns if is_dense(name, schema))


def over_elements(stage: Stage, fitted: Fitted) -> tuple[Stage, Fitted]:
    """Return a fitted stage and its state; one over dense vectors as one over their elements.

    Examples
    --------
    >>> from penstock.stages import PCA
    >>> over_elements(PCA(("v",), 1), {"mean": [0.0, 0.0], "vector_sizes": {"v": 2}})[0].columns
    ('v_0', 'v_1')
    """
    if SIZES not in fitted:
        return stage, fitted
    state = {name: value for name, value in fitted.items() if name != SIZES}
    return cast(NumbersTaker, stage).over_elements(fitted[SIZES]), state


def statistics(stage: Stage, schema: pa.Schema) -> Mapping[str, Statistic]:
    """Return the statistics that a bound stage needs."""
    vectors = dense_vectors(stage, schema)
    if not vectors:
        return stage.statistics(schema)
    asked = ElementStatistics(vectors, stage, schema)
    return {**asked.others, SIZES: asked}


def finish(stage: Stage, results: Mapping[str, Any]) -> Fitted:
    """Return what is learned from the finished statistics."""
    found = results.get(SIZES)
    if not isinstance(found, ElementResults):
        return stage.finish(results)
    others = {name: value for name, value in results.items() if name != SIZES}
    try:
        learned = found.stage.finish({**others, **found.results})
    except DataValueError as error:
        raise VectorElements.of(found.sizes).blamed(error) from error.__cause__
    return {**learned, SIZES: dict(found.sizes)}


def start_from(stage: Stage, learned: Fitted, before: Fitted) -> Fitted:
    """Return what a trainer is given to go on from what it has learned before, as `WarmStart.start_from`.

    Raises
    ------
    DataValueError
        Vectors are of other lengths.
    """
    if learned.get(SIZES) != before.get(SIZES):
        raise DataValueError(
            f"vectors are of lengths {learned.get(SIZES)}, and {stage.title} has learned from {before.get(SIZES)}",
            hint="Pass vectors of these lengths, or fit on all rows.",
            stage=stage.title,
        )
    (inner, state), (_, known) = over_elements(stage, learned), over_elements(stage, before)
    return _with_sizes(cast(WarmStart, inner).start_from(state, known), learned)


def output_schema(stage: Stage, schema: pa.Schema) -> pa.Schema:
    """Return the schema after `transform`, as `Stage.output_schema`; of vectors it makes vectors of float64."""
    vectors = dense_vectors(stage, schema) if isinstance(stage, ColumnStage) else ()
    if not vectors:
        return stage.output_schema(schema)
    sizes = dict.fromkeys(vectors, 1)
    made = cast(NumbersTaker, stage).over_elements(sizes).output_schema(VectorElements.of(sizes).schema(schema))
    results = _vectors_made(stage, {SIZES: sizes})
    kinds = {out: pa.list_(pa.float64()) if out in results else made.field(out).type for out in stage.outputs()}
    return with_fields(schema, kinds)


def train(stage: Trainer, rank: Rank, learned: Fitted) -> Fitted:
    """Learn from rows, as `Trainer.train`."""
    inner, state, step = weighed(*over_elements(stage, learned))
    return _with_sizes(inner.train(_over_rank(_with_step(rank, step), learned), state), learned)


def train_together(rank: Rank, trainings: Sequence[tuple[Trainer, Fitted]]) -> list[Fitted]:
    """Learn as several trainers of one class from the same rows, as `Trainer.train_together`."""
    (first, state), *others = trainings
    if any(learned.get(SIZES) != state.get(SIZES) for _, learned in others):
        return [train(stage, rank, learned) for stage, learned in trainings]
    ready = [weighed(*over_elements(stage, learned)) for stage, learned in trainings]
    for step in dict.fromkeys(step for _, _, step in ready):
        rank = _with_step(rank, step)
    trained = type(first).train_together(_over_rank(rank, state), [(inner, own) for inner, own, _ in ready])
    return [_with_sizes(each, state) for each in trained]


def _with_step(rank: Rank, step: Step | None) -> Rank:
    return rank if step is None else replace(rank, assignment=rank.assignment.with_step(step))


def _over_rank(rank: Rank, learned: Fitted) -> Rank:
    return ElementRank.of(rank, VectorElements.of(learned[SIZES])) if SIZES in learned else rank


def _with_sizes(trained: Fitted, learned: Fitted) -> Fitted:
    return {**trained, SIZES: learned[SIZES]} if SIZES in learned else trained


def transform(stage: Stage, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
    """Return a new frame, as `Stage.transform`."""
    inner, state = over_elements(stage, fitted)
    if inner is stage:
        return stage.transform(frame, fitted)
    elements = VectorElements.of(fitted[SIZES])
    view = elements.view(frame, inner.inputs())
    try:
        made = inner.transform(view, state)
    except DataValueError as error:
        raise elements.blamed(error) from error.__cause__
    vectors = _vectors_made(stage, fitted)
    results = [pack(made, vectors[out], out) if out in vectors else made[out] for out in stage.outputs()]
    return frame.with_columns(*results)


def _vectors_made(stage: Stage, fitted: Fitted) -> dict[str, tuple[str, ...]]:
    """Return the vectors that are made of vectors, each with the columns that its elements are."""
    sizes, pairs = fitted[SIZES], stage.pairs() if isinstance(stage, ColumnStage) else []
    return {out: element_names(out, sizes[name]) for name, out in pairs if name in sizes}


def notes(stage: Stage, fitted: Fitted) -> list[str]:
    """Return what a user should know of the fit, as `Stage.notes`."""
    inner, state = over_elements(stage, fitted)
    return inner.notes(state)


def row_function(stage: Stage, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
    """Return what `transform` does as a function of one row, as `Stage.row_function`."""
    inner, state = over_elements(stage, fitted)
    if inner is stage:
        return stage.row_function(schema, fitted)
    elements, outputs, vectors = VectorElements.of(fitted[SIZES]), stage.outputs(), _vectors_made(stage, fitted)
    function = inner.row_function(elements.schema(schema), state)
    if function is None:
        return None

    def call(row: dict[str, Any]) -> None:
        values = elements.row(row)
        try:
            function(values)
        except DataValueError as error:
            raise elements.blamed(error) from error.__cause__
        row.update({out: packed(values, vectors[out]) if out in vectors else values[out] for out in outputs})

    return call


def sizes(fitted: Fitted | None) -> Mapping[str, int]:
    """Return the lengths of the vectors of a fitted stage, by name."""
    return (fitted or {}).get(SIZES, {})


def to_onnx(stage: Stage, graph: OnnxGraph, fitted: Fitted) -> None:
    """Put a stage into a graph in ONNX, as `HasOnnx.to_onnx`."""
    inner, state = over_elements(stage, fitted)
    if inner is stage:
        return cast(HasOnnx, stage).to_onnx(graph, fitted)
    columns, schema, vectors = dict(graph.columns), graph.schema, _vectors_made(stage, fitted)
    for name, size in sizes(fitted).items():
        graph.assign(dict(zip(element_names(name, size), graph.parts(columns[name], size), strict=True)))
    graph.schema = VectorElements.of(sizes(fitted)).schema(schema)
    cast(HasOnnx, inner).to_onnx(graph, state)
    results = {out: graph.numbers(vectors[out]) if out in vectors else graph.columns[out] for out in stage.outputs()}
    graph.columns, graph.schema = {**columns, **results}, schema  # elements are there for this stage alone
    return None


def check_sizes(stage: Stage, fitted: Mapping[str, Any]) -> None:
    """Raise ValueError where a saved stage has lengths that are none, or are not of its columns."""
    if SIZES not in fitted:
        return
    sizes = fitted[SIZES]
    if not isinstance(sizes, Mapping) or not sizes:
        raise ValueError(f"{SIZES} is {sizes!r:.100}, expected the length of each vector")
    for name, size in sizes.items():
        if type(size) is not int or not 0 < size <= LONGEST or name not in stage.inputs():
            raise ValueError(f"{SIZES} has {name!r}: {size!r:.50}, expected a column and a length up to {LONGEST}")


def check_fitted(stage: Stage, schema: pa.Schema, fitted: Fitted) -> None:
    """Raise ValueError or TypeError where a saved stage has not learned what its `fitted_shape` says."""
    inner, state = over_elements(stage, fitted)
    if inner is not stage:
        if set(fitted[SIZES]) != set(dense_vectors(stage, schema)):
            raise ValueError(f"{SIZES} has {', '.join(fitted[SIZES])}, which are not the vectors among the columns")
        schema = VectorElements.of(fitted[SIZES]).schema(schema)
    shape = inner.fitted_shape(schema, state)
    if shape is not None:
        shape.check(state, "")


@dataclass(frozen=True, eq=False)
class ElementRank(Rank):
    """A rank that reads vectors, and gives batches of their elements.

    Parameters
    ----------
    elements : VectorElements
    """

    elements: VectorElements = field(kw_only=True)

    @classmethod
    def of(cls, rank: Rank, elements: VectorElements) -> ElementRank:
        """Return a rank as one that gives elements."""
        return cls(**{each.name: getattr(rank, each.name) for each in fields(Rank)}, elements=elements)

    def prepared(self, key: Hashable, build: Callable[[], Prepared]) -> Prepared:
        # A column of a user's may have the name of an element.
        return super().prepared((self.elements, key), build)

    def _convert(
        self, share: DataShare, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]
    ) -> Iterator[Batch]:
        def convert_elements(frame: nw.DataFrame[Any]) -> Batch:
            view = self.elements.view(frame, columns)
            try:
                return convert(view)
            except DataValueError as error:
                raise self.elements.blamed(error) from error.__cause__

        return super()._convert(share, self.elements.collect(columns), convert_elements)
