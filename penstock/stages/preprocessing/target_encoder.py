"""Categories replaced by the mean of a target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.errors import ConfigError, SchemaError
from penstock.schemas import require
from penstock.selectors import is_numeric
from penstock.stages.base import ColumnStage, Fitted, RowFunction, Tags, check_choice, check_number, with_fields
from penstock.stages.preprocessing.categories import check_new, coder, codes, holds, spelt, values_of
from penstock.statistics import Statistic
from penstock.statistics.group_sums import GroupSum, GroupSums

_RULES = {"binary": "not_binary", "continuous": "infinite", "multiclass": "not_in"}


@dataclass(frozen=True)
class TargetEncoder(ColumnStage):
    """Replaces each value by the mean of the label in the rows that had it at fit, drawn to the mean of all rows.

    With n rows of a value, their mean and the `prior`, the mean of all rows, it becomes, as in MLlib and scikit-learn,
    ``w * mean + (1 - w) * prior`` with ``w = n / (n + smoothing)``, in float64. Null is a value of its own, so that
    nothing that comes out is null; a value unseen at fit, null too, becomes the prior.

    The rows that are learned from are encoded with their own labels among the rest, as in MLlib and as by
    scikit-learn's ``transform``; scikit-learn's ``fit_transform``, which encodes each fold from the others, is absent.
    A model trained on these rows trusts rare categories too much: raise `smoothing`, or fit the encoder on other rows.

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
        At fit: a label is null, infinite, larger than 1e150, not 0 or 1 for ``binary``, or none of the classes. When it
        runs, with ``handle_invalid="error"``: values unseen at fit. Column, count, first file and row are named.

    Notes
    -----
    Sums are exact to the last digit in whatever order rows are read. Learned are ``prior``, a list of a number a class
    (one unless ``multiclass``); ``encodings``, an Arrow table by column of ``value`` (ascending, in the type of the
    column), ``count`` and for class i ``encoding_<i>``; and ``missing``, a list by column, the encoding of null.

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
    handle_invalid: str = "keep"

    tags: ClassVar[Tags] = Tags(accepts="categorical")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        check_choice(self, "target_type", tuple(_RULES))
        check_number(self, "smoothing", least=0, most=1e300)
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
            cls(("s1", "n1"), smoothing=1, handle_invalid="error"),
            multi,
        )

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them and the label."""
        require(schema, (self.label,), stage=self.title)
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

    def _check_classes(self, kind: pa.DataType) -> None:
        classes = self.classes or ()
        if len({spelt(each) for each in classes}) < len(classes) or not all(holds(kind, each) for each in classes):
            raise ConfigError(
                f"classes of TargetEncoder are {classes!r:.200}, expected different values of type {kind}, that of"
                f" label {self.label!r}",
                column=self.label, stage=self.title,
            )  # fmt: skip

    def training_columns(self) -> tuple[str, ...]:
        """Return the columns and the label."""
        return (*self.inputs(), self.label)

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
        """Ask for the sums of the label over each value."""
        return {"sums": GroupSums(self.training_columns(), _RULES[self.target_type], self.classes or ())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``prior``, ``encodings`` and ``missing``."""
        sums: Mapping[str, GroupSum] = results["sums"]
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
        known = {name: values_of(fitted["encodings"][name]) for name in self.inputs()}
        unseen = {name: len(values) for name, values in known.items()}
        found = codes(frame, known, unseen, refuse=self.handle_invalid == "error")
        made = []
        for name, first in self.pairs():
            code = found[name].fill_null(unseen[name] + 1)
            for out, place in self._made(first):
                made.append(frames.decode(code, pa.array(_lookup(fitted, name, place))).alias(out))
        return frame.with_columns(*made)

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


def _lookup(fitted: Fitted, name: str, place: int) -> np.ndarray:
    """Return what each code of a column stands for: the encodings, the prior for what is unseen, and that of null."""
    encodings = fitted["encodings"][name][f"encoding_{place}"].to_numpy()
    return np.append(encodings, [fitted["prior"][place], fitted["missing"][name][place]])
