"""What encoders share that learn a number for each category from a label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError, SchemaError
from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.stages.base import ColumnStage, Fitted, RowFunction, Tags, with_fields
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.preprocessing.categories.vocabulary import coder, codes, values_of
from penstock.stages.shapes import Fields, ListOf, Number, Shape, TableOf, by_column, like
from penstock.statistics import Statistic
from penstock.statistics.grouped.folds import Folded
from penstock.statistics.grouped.group_sums import GroupSum, GroupSums


@dataclass(frozen=True)
class SupervisedEncoder(ColumnStage):
    """A stage that looks up numbers for the values of its columns, learned from the sums of a label over each value.

    Rows that later stages learn from are encoded fold by fold with what the other folds say, so that no row is encoded
    by its own label. A subclass says what `learned` makes of the sums.

    Parameters
    ----------
    label : str
        The column that is added up. It is read at fit alone.
    num_folds : int or None
        Into how many folds rows that are learned from are dealt; None for none.
    fold : str, optional
        Column of the fold of each row; without it rows are dealt by their number.
    seed : int
        Of that deal.
    handle_invalid : {"keep", "error"}
        Whether values unseen at fit are refused.
    """

    _: KW_ONLY
    label: str = "label"
    num_folds: int | None = field(default=5, metadata=in_range(least=2, whole=True))
    fold: str | None = None
    seed: int = field(default=0, metadata=in_range(whole=True))
    handle_invalid: str = field(default="keep", metadata=one_of("keep", "error"))

    tags: ClassVar[Tags] = Tags(accepts="categorical")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_folds is None:
            object.__setattr__(self, "tags", replace(self.tags, tells_labels="it was asked for no folds, as in MLlib"))

    @abstractmethod
    def group_sums(self) -> GroupSums:
        """Return the statistic that `learned` reads; the stage is bound."""

    @abstractmethod
    def learned(self, sums: Mapping[str, GroupSum]) -> dict[str, Any]:
        """Return what is learned from the sums of some rows, at least one.

        It holds ``prior``, a list of what a value becomes that is not among them, a number an output; ``encodings``, an
        Arrow table by column of ``value`` and for output i ``encoding_<i>``; and ``missing``, a list by column of what
        null becomes.
        """

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them, the label and the column of folds."""
        require(schema, (self.label, *([self.fold] if self.fold else [])), stage=self.title)
        self._check_fold(schema)
        bound = super().bind(schema)
        if self.label in bound.inputs():
            raise ConfigError(f"label {self.label!r} is among the columns", column=self.label, stage=self.title)
        return bound

    def _check_fold(self, schema: pa.Schema) -> None:
        if self.fold is None or pa.types.is_integer(schema.field(self.fold).type):
            return
        problem = f"column {self.fold!r} of folds is {schema.field(self.fold).type}, expected integers"
        raise SchemaError(problem, column=self.fold, stage=self.title)

    def training_inputs(self) -> tuple[str, ...]:
        """Return the columns, and what rows are dealt by."""
        return tuple(name for name in self._sums.reads if name != self.label)

    @property
    def _sums(self) -> GroupSums | Folded:
        sums = self.group_sums()
        if self.num_folds is None:
            return sums
        return Folded.of([sums], num_folds=self.num_folds, fold=self.fold, seed=self.seed)

    def check(self, sums: Mapping[str, GroupSum]) -> None:
        """Raise DataValueError for the sums of all rows if nothing can be learned from them."""

    def made(self, out: str) -> list[tuple[str, int]]:
        """Return the columns that are made of one, each with the number of its encoding."""
        return [(out, 0)]

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns made, float64."""
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.float64()))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the sums of the label over each value, in all rows and without each fold."""
        return {"sums": self._sums}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``prior``, ``encodings`` and ``missing``; and ``training``, what each fold is encoded with."""
        sums = results["sums"]
        (whole,) = (sums,) if self.num_folds is None else sums["all",]
        self.check(whole)
        learned = self.learned(whole)
        if self.num_folds is None:
            return learned
        rests = [sums["rest", number][0] for number in range(self.num_folds)]
        nothing = {
            "prior": learned["prior"],
            "encodings": {},
            "missing": dict.fromkeys(self.inputs(), learned["prior"]),
        }
        without = [self.learned(rest) if _rows(rest) else nothing for rest in rests]
        tables = {name: _aligned(name, learned["encodings"][name], without) for name in self.inputs()}
        return {**learned, "training": tables}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        count = len(fitted["prior"])
        numbers = ListOf(Number(), count)
        columns = {
            "count": pa.types.is_integer,
            **{f"encoding_{place}": pa.types.is_floating for place in range(count)},
        }

        def table(name: str) -> Shape:
            return TableOf({"value": like(schema.field(name).type), **columns}, unique=("value",))

        parts = {"prior": numbers, "encodings": by_column(self.inputs(), table)}
        missing = {"missing": by_column(self.inputs(), numbers)}
        return Fields({**parts, **missing}, {"information_value": by_column(self.inputs(), Number())})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode all columns in one call, and look the numbers up."""
        made = []
        for name, first, code, _ in self._coded(frame, fitted):
            for out, place in self.made(first):
                made.append(frames.decode(code, pa.array(_lookup(fitted, name, place))).alias(out))
        return frame.with_columns(*made)

    def transform_training(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode each row by what was learned from the folds that it is not in."""
        if not isinstance(self._sums, Folded):
            return self.transform(frame, fitted)
        fold = self._sums.deal(frame).cast(nw.Int64)
        made = []
        for name, first, code, count in self._coded(frame, fitted):
            placed = code.cast(nw.Int64) + fold * count
            for out, place in self.made(first):
                values = values_of(fitted["training"][name], f"encoding_{place}")
                made.append(frames.decode(placed, values).alias(out))
        return frame.with_columns(*made)

    def kept(self, fitted: Fitted) -> Fitted:
        """Return all but ``training``."""
        return {name: value for name, value in fitted.items() if name != "training"}

    def _coded(self, frame: nw.DataFrame, fitted: Fitted) -> Iterator[tuple[str, str, nw.Series, int]]:
        """Yield each column, its output, its codes and how many there are: of values, of what is unseen, of null."""
        known = {name: values_of(fitted["encodings"][name]) for name in self.inputs()}
        unseen = {name: len(values) for name, values in known.items()}
        missing = {name: code + 1 for name, code in unseen.items()}
        found = codes(frame, known, unseen, missing, refuse=self.handle_invalid == "error")
        for name, first in self.pairs():
            yield name, first, found[name], missing[name] + 1

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Look the numbers of one row up."""
        refuse = self.handle_invalid == "error"
        coders = []
        for name, first in self.pairs():
            tables = [(out, _lookup(fitted, name, place).tolist()) for out, place in self.made(first)]
            known = values_of(fitted["encodings"][name])
            coders.append((name, coder(name, known, len(known), refuse=refuse), tables))

        def call(row: dict[str, Any]) -> None:
            made: dict[str, Any] = {}
            for name, code, tables in coders:
                place = code(row[name])
                made.update({out: values[-1 if place is None else place] for out, values in tables})
            row.update(made)

        return call


def check_numeric(stage: SupervisedEncoder, schema: pa.Schema, what: str, hint: str | None = None) -> None:
    """Raise SchemaError unless the label is of numbers or booleans."""
    kind = schema.field(stage.label).type
    if not is_numeric(kind):
        raise SchemaError(
            f"label {stage.label!r} is {kind}, but a {what} one is of numbers or booleans",
            hint=hint, column=stage.label, stage=stage.title,
        )  # fmt: skip


def encodings_of(found: GroupSum, made: np.ndarray, missing: Sequence[float]) -> tuple[pa.Table, list[float]]:
    """Return the table of the values, and the encoding of null.

    Parameters
    ----------
    made : numpy.ndarray of shape (n_categories, n_outputs)
        What each category becomes, null among them.
    missing : sequence of float
        What null becomes where it is no category.
    """
    known = len(found.values) - found.values.null_count
    columns = {f"encoding_{place}": made[:known, place] for place in range(made.shape[1])}
    table = pa.table({"value": found.values[:known], "count": found.counts[:known], **columns})
    return table, (made[known].tolist() if known < len(made) else list(missing))


def _rows(sums: Mapping[str, GroupSum]) -> int:
    return int(next(iter(sums.values())).counts.sum())


def _aligned(name: str, whole: pa.Table, without: Sequence[Fitted]) -> pa.Table:
    """Return the encodings of a column in each fold, one fold after the other, for the codes of all rows' values."""
    columns = [each for each in whole.column_names if each.startswith("encoding_")]
    parts: dict[str, list[np.ndarray]] = {each: [] for each in columns}
    for learned in without:
        found = learned["encodings"].get(name, whole.slice(0, 0))
        at = pc.fill_null(pc.index_in(whole["value"], values_of(found)), found.num_rows).to_numpy()
        for place, each in enumerate(columns):
            prior, missing = learned["prior"][place], learned["missing"][name][place]
            parts[each].append(np.append(np.append(found[each].to_numpy(), prior)[at], [prior, missing]))
    return pa.table({each: np.concatenate(arrays) for each, arrays in parts.items()})


def _lookup(fitted: Fitted, name: str, place: int) -> np.ndarray:
    """Return what each code of a column stands for: the encodings, the prior for what is unseen, and that of null."""
    encodings = fitted["encodings"][name][f"encoding_{place}"].to_numpy()
    return np.append(encodings, [fitted["prior"][place], fitted["missing"][name][place]])
