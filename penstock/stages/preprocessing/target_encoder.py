"""Categories replaced by the mean of a target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.errors import ConfigError, SchemaError
from penstock.schemas import require
from penstock.selectors import is_numeric
from penstock.stages.base import ColumnStage, Fitted, RowFunction, Tags, check_choice, check_number, with_fields
from penstock.stages.preprocessing.categories import check_new, coder, codes, holds, spelt, values_of
from penstock.statistics import Statistic
from penstock.statistics.folded import Folded
from penstock.statistics.group_sums import GroupSum, GroupSums

_RULES = {"binary": "not_binary", "continuous": "infinite", "multiclass": "not_in"}


@dataclass(frozen=True)
class TargetEncoder(ColumnStage):
    """Replaces each value by the mean of the label in the rows that had it at fit, drawn to the mean of all rows.

    With n rows of a value, their mean and the `prior`, the mean of all rows, it becomes, as in MLlib and scikit-learn,
    ``w * mean + (1 - w) * prior`` with ``w = n / (n + smoothing)``, in float64. Null is a value of its own, so that
    nothing that comes out is null; a value unseen at fit, null too, becomes the prior.

    In a fit, the stages after this one learn from rows that are encoded without their own label: each fold by the
    means of the other folds, as by scikit-learn's ``fit_transform``. Otherwise a model would learn labels from the
    encodings of rare values, and trust them too much. `transform` has the means of all rows, as scikit-learn's has, and
    MLlib's, which has no folds.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are matched by their text, see :class:`StringIndexer`.
    label : str, default="label"
        The target: numbers or booleans, for ``multiclass`` integers, booleans or strings. It is read at fit alone.
    target_type : {"binary", "continuous", "multiclass"}, default="binary"
        ``binary`` takes 0 and 1; the mean is the share of 1. ``multiclass``, which MLlib does not have, gives one
        column a class, the share of that class.
    classes : sequence, optional
        For ``multiclass``, and for nothing else: the classes, all that the label has. The columns made are named
        ``<column>_<class>`` and added; of the others the columns are replaced unless `output_columns` says otherwise.
    smoothing : float, default=0.0
        As MLlib's ``smoothing`` and a number as scikit-learn's ``smooth``, whose ``"auto"`` is absent.
    num_folds : int or None, default=5
        In how many folds rows that are learned from are encoded; None encodes them with their own labels among the
        rest, as MLlib does.
    fold : str, optional
        Column of the fold of each row, from 0 to ``num_folds - 1``; rows of one person, say, belong in one fold.
        Without it rows are dealt by their number: the same rows on every engine and partitioning.
    seed : int, default=0
        Of that deal.
    handle_invalid : {"keep", "error"}, default="keep"
        What becomes of a value unseen at fit: the prior, or an error, which is MLlib's default. Null is never refused.
    output_columns : sequence of str, optional
        Names for the results, one a column; for ``multiclass`` what their names begin with.

    Raises
    ------
    ConfigError
        A parameter is wrong, a class cannot be a value of the label, the label is among the columns, or a column to be
        added is there already.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        At fit: a label is null, infinite, larger than 1e150, not 0 or 1 for ``binary``, or none of the classes; a
        number in `fold` is none. When it runs, with ``handle_invalid="error"``: values unseen at fit. Column, count,
        first file and row are named.

    Notes
    -----
    Sums are exact to the last digit in whatever order rows are read. Learned are ``prior``, a list of a number a class
    (one unless ``multiclass``); ``encodings``, an Arrow table by column of ``value`` (ascending, in the type of the
    column), ``count`` and for class i ``encoding_<i>``; and ``missing``, a list by column, the encoding of null. A
    value that only one fold has becomes there the mean of the labels of the other folds.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"c": ["a", "a", "b", None], "label": [1, 0, 1, 1]})
    >>> model = ps.Pipeline(st.TargetEncoder("c", smoothing=1)).fit(ps.LocalEngine().from_arrow(table))
    >>> model.predict([{"c": "a"}, {"c": "b"}, {"c": None}, {"c": "z"}], columns="c")
    [{'c': 0.5833333333333333}, {'c': 0.875}, {'c': 0.875}, {'c': 0.75}]
    """

    _: KW_ONLY
    label: str = "label"
    target_type: str = "binary"
    classes: tuple[Any, ...] | None = None
    smoothing: float = 0.0
    num_folds: int | None = 5
    fold: str | None = None
    seed: int = 0
    handle_invalid: str = "keep"

    tags: ClassVar[Tags] = Tags(accepts="categorical")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        check_choice(self, "target_type", tuple(_RULES))
        check_number(self, "smoothing", least=0, most=1e300)
        check_number(self, "num_folds", least=2, whole=True)
        check_number(self, "seed", whole=True)
        check_choice(self, "handle_invalid", ("keep", "error"))
        if (self.target_type == "multiclass") != bool(self.classes):
            raise ConfigError(
                f"target_type of TargetEncoder is {self.target_type!r} and classes are {self.classes!r};"
                " expected classes for 'multiclass', and for nothing else",
                hint="They tell how many columns there will be, before any data is read.",
                stage=self.title,
            )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        multi = cls(("s1", "b"), label="class", target_type="multiclass", classes=("low", "middle", "top"))
        return (
            cls(("s1", "s2", "n1", "b")),
            cls(("s1", "n1"), label="y", target_type="continuous", smoothing=5.0, output_columns=("s", "n")),
            cls(("s1", "n1"), smoothing=1, num_folds=None, handle_invalid="error"),
            multi,
        )

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them, the label and the column of folds."""
        require(schema, (self.label, *([self.fold] if self.fold else [])), stage=self.title)
        self._check_fold(schema)
        bound = super().bind(schema)
        if self.label in bound.inputs():
            raise ConfigError(f"label {self.label!r} is among the columns", column=self.label, stage=self.title)
        kind = schema.field(self.label).type
        if self.classes is None and not is_numeric(kind):
            raise SchemaError(
                f"label {self.label!r} is {kind}, but a {self.target_type} one is of numbers or booleans",
                hint='For classes pass target_type="multiclass" and classes.', column=self.label, stage=self.title,
            )  # fmt: skip
        bound._check_classes(kind)
        if self.classes is not None:
            check_new(bound, schema)
        return bound

    def _check_fold(self, schema: pa.Schema) -> None:
        if self.fold is None or pa.types.is_integer(schema.field(self.fold).type):
            return
        problem = f"column {self.fold!r} of folds is {schema.field(self.fold).type}, expected integers"
        raise SchemaError(problem, column=self.fold, stage=self.title)

    def _check_classes(self, kind: pa.DataType) -> None:
        classes = self.classes or ()
        if len({spelt(each) for each in classes}) < len(classes) or not all(holds(kind, each) for each in classes):
            raise ConfigError(
                f"classes of TargetEncoder are {classes!r:.200}, expected different values of type {kind}, that of"
                f" label {self.label!r}",
                column=self.label, stage=self.title,
            )  # fmt: skip

    def training_columns(self) -> tuple[str, ...]:
        """Return the columns, the label, and the column of folds, if there is one."""
        return (*self.inputs(), self.label, *([self.fold] if self.fold else []))

    def training_inputs(self) -> tuple[str, ...]:
        """Return the columns, and what rows are dealt by."""
        return tuple(name for name in self._sums.columns if name != self.label)

    @property
    def _sums(self) -> GroupSums | Folded:
        sums = GroupSums((*self.inputs(), self.label), _RULES[self.target_type], self.classes or ())
        if self.num_folds is None:
            return sums
        return Folded.of([sums], num_folds=self.num_folds, fold=self.fold, seed=self.seed)

    def outputs(self) -> tuple[str, ...]:
        """Return the columns made, those of the first column first."""
        return tuple(out for name, first in self.pairs() for out, _ in self._made(first))

    def pairs(self) -> list[tuple[str, str]]:
        """Return (input, output) names; for ``multiclass`` what the names of the outputs begin with."""
        return list(zip(self.inputs(), super().outputs(), strict=True))

    def _made(self, out: str) -> list[tuple[str, int]]:
        """Return the names for one column, each with the number of its class."""
        if self.classes is None:
            return [(out, 0)]
        return [(f"{out}_{spelt(each)}", place) for place, each in enumerate(self.classes)]

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns made, float64."""
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.float64()))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the sums of the label over each value, in all rows and without each fold."""
        return {"sums": self._sums}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``prior``, ``encodings`` and ``missing``; and ``training``, what each fold is encoded with."""
        sums = results["sums"]
        if self.num_folds is None:
            return self._learned(sums)
        (whole,) = sums["all",]
        rests = [sums["rest", number][0] for number in range(self.num_folds)]
        learned = self._learned(whole)
        nothing = {
            "prior": learned["prior"],
            "encodings": {},
            "missing": dict.fromkeys(self.inputs(), learned["prior"]),
        }
        without = [self._learned(rest) if _rows(rest) else nothing for rest in rests]
        tables = {name: _aligned(name, learned["encodings"][name], without) for name in self.inputs()}
        return {**learned, "training": tables}

    def _learned(self, sums: Mapping[str, GroupSum]) -> dict[str, Any]:
        whole = sums[self.inputs()[0]]
        prior = np.array([math.fsum(column) for column in whole.sums.T.tolist()]) / whole.counts.sum()
        found = {name: self._encodings(sums[name], prior) for name in self.inputs()}
        return {
            "prior": prior.tolist(),
            "encodings": {name: table for name, (table, _) in found.items()},
            "missing": {name: missing for name, (_, missing) in found.items()},
        }

    def _encodings(self, found: GroupSum, prior: np.ndarray) -> tuple[pa.Table, list[float]]:
        """Return the table of the values, and the encoding of null."""
        weight = (found.counts / (found.counts + self.smoothing))[:, None]
        made = weight * found.means + (1 - weight) * prior
        known = len(found.values) - found.values.null_count
        columns = {f"encoding_{place}": made[:known, place] for place in range(len(prior))}
        table = pa.table({"value": found.values[:known], "count": found.counts[:known], **columns})
        return table, (made[known] if known < len(made) else prior).tolist()

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode all columns in one call, and look the means up."""
        made = []
        for name, first, code, _ in self._coded(frame, fitted):
            for out, place in self._made(first):
                made.append(frames.decode(code, pa.array(_lookup(fitted, name, place))).alias(out))
        return frame.with_columns(*made)

    def transform_training(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Encode each row by the means of the folds that it is not in."""
        if not isinstance(self._sums, Folded):
            return self.transform(frame, fitted)
        fold = self._sums.deal(frame).cast(nw.Int64)
        made = []
        for name, first, code, count in self._coded(frame, fitted):
            placed = code.cast(nw.Int64) + fold * count
            for out, place in self._made(first):
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
        found = codes(frame, known, unseen, refuse=self.handle_invalid == "error")
        for name, first in self.pairs():
            yield name, first, found[name].fill_null(unseen[name] + 1), unseen[name] + 2

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Look the means of one row up."""
        refuse = self.handle_invalid == "error"
        coders = []
        for name, first in self.pairs():
            tables = [(out, _lookup(fitted, name, place).tolist()) for out, place in self._made(first)]
            known = values_of(fitted["encodings"][name])
            coders.append((name, coder(name, known, len(known), refuse=refuse), tables))

        def call(row: dict[str, Any]) -> None:
            made: dict[str, Any] = {}
            for name, code, tables in coders:
                place = code(row[name])
                made.update({out: values[-1 if place is None else place] for out, values in tables})
            row.update(made)

        return call


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
