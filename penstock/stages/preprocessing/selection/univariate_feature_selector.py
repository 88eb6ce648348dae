"""Features that have little to do with the label, each by itself, left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, SchemaError
from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.stages.base import Fitted, Tags, check_number
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, ListOf, Number, Shape, Text, by_column
from penstock.stat import association
from penstock.statistics import Gram, Statistic
from penstock.statistics.class_moments import ClassMoments
from penstock.statistics.contingency import Contingencies

_TYPES = ("categorical", "continuous")
_THRESHOLDS = {"num_top_features": 50, "percentile": 0.1, "fpr": 0.05, "fdr": 0.05, "fwe": 0.05}


@dataclass(frozen=True)
class UnivariateFeatureSelector(FeatureSelector):
    """Keeps the features that have most to do with a label, each tested by itself for being independent of it.

    ============ =========== ======================== =====================================
    feature_type label_type  test                     scikit-learn's name
    ============ =========== ======================== =====================================
    categorical  categorical Pearson's chi-squared    none; its ``chi2`` is another test
    continuous   categorical F, analysis of variance  ``f_classif``
    continuous   continuous  F, linear regression     ``f_regression``
    ============ =========== ======================== =====================================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        The features to choose from. Categorical ones are strings, integers or booleans, with at most 10,000 distinct
        values; continuous ones are numbers or booleans (0 and 1), for regression at most 4,999.
    label : str, default="label"
        A categorical label is of integers, booleans, strings or whole floating numbers, a continuous one of numbers. It
        is read at fit alone.
    feature_type, label_type : {"categorical", "continuous"}
        What decides on the test; there is none for categorical features of a continuous label.
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe"}, default="num_top_features"
        How features are chosen by their p-values: so many of the smallest (scikit-learn's ``SelectKBest``); the share
        `selection_threshold` of all, rounded down (``SelectPercentile``, a share and not per cent); all below the
        threshold (``SelectFpr``); as many as keep the false discovery rate below it, by Benjamini and Hochberg
        (``SelectFdr``); all below the threshold divided by the number of features (``SelectFwe``).
    selection_threshold : int or float, optional
        50 features for ``num_top_features``, 0.1 for ``percentile``, else 0.05, as in MLlib, unless given.

    Raises
    ------
    ConfigError
        A parameter is wrong, there is no such test, or the label is among the features.
    SchemaError
        At fit, before reading: a column is missing or of another type; or a later stage names one that was left out.
    DataValueError
        At fit: a label is null or infinite, or a categorical one has a fraction or a single class; a continuous feature
        is null, infinite or beyond 1e150. Column, count, file and row are named. A column has too many values.

    Notes
    -----
    Null is a category like any other; of continuous features it is refused: fill it before. A feature with a single
    value has score 0 and p-value 1, and one that explains all of the label the largest float64 for a score and p-value
    0, as by scikit-learn's ``force_finite``. Of equal p-values, as of 0, that of the larger score is the smaller; MLlib
    then goes by the order of the columns, and takes chi-squared p-values below 1e-16 for 0.

    Learned are ``scores`` and ``p_values``, by column, and ``selected``, the columns kept.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"x": [1.0, 2.0, 8.0, 9.0], "y": [3.0, 1.0, 2.0, 3.5], "label": [0, 0, 1, 1]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> types = {"feature_type": "continuous", "label_type": "categorical"}
    >>> model = ps.Pipeline(st.UnivariateFeatureSelector(["x", "y"], selection_threshold=1, **types)).fit(data)
    >>> model.transform(data).columns, {name: round(p, 4) for name, p in model.fitted[0]["p_values"].items()}
    (['x', 'label'], {'x': 0.0101, 'y': 0.6094})
    """

    label: str = "label"
    _: KW_ONLY
    feature_type: str = field(metadata=one_of(*_TYPES))
    label_type: str = field(metadata=one_of(*_TYPES))
    selection_mode: str = field(default="num_top_features", metadata=one_of(*_THRESHOLDS))
    selection_threshold: float | None = None

    tags: ClassVar[Tags] = Tags(lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.selection_mode == "num_top_features":
            check_number(self, "selection_threshold", least=1, whole=True)
        else:
            check_number(self, "selection_threshold", least=0, most=1)
        if (self.feature_type, self.label_type) == ("categorical", "continuous"):
            raise ConfigError(
                "there is no test of categorical features for a continuous label",
                hint="Put the label into buckets, or encode the features as numbers, before.",
                stage=self.title,
            )

    @property
    def threshold(self) -> float:
        """The threshold that was given, or the default of the mode."""
        default = _THRESHOLDS[self.selection_mode]
        return default if self.selection_threshold is None else self.selection_threshold

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them and the label."""
        require(schema, (self.label,), stage=self.title)
        bound = super().bind(schema)
        if self.label in bound.doubtful():
            raise ConfigError(f"label {self.label!r} is among the columns", column=self.label, stage=self.title)
        kind = schema.field(self.label).type
        if not (is_numeric(kind) or (pa.types.is_string(kind) and self.label_type == "categorical")):
            self._refuse_type("label", self.label, kind, self.label_type)
        for name in bound.doubtful():
            kind = schema.field(name).type
            if not (_is_categorical(kind) if self.feature_type == "categorical" else is_numeric(kind)):
                self._refuse_type("column", name, kind, self.feature_type)
        return bound

    def _refuse_type(self, role: str, name: str, kind: pa.DataType, expected: str) -> None:
        raise SchemaError(
            f"{role} {name!r} is {kind}, which {self.title} does not take for {expected}",
            hint="Leave it out, convert it, or pass another feature_type or label_type.",
            column=name,
            stage=self.title,
        )

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what the test is made of."""
        if self.label_type == "continuous":
            return {"test": Gram((*self.doubtful(), self.label))}
        columns = (self.label, *self.doubtful())
        return {"test": Contingencies(columns) if self.feature_type == "categorical" else ClassMoments(columns)}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``scores``, ``p_values`` and ``selected``."""
        scores, p_values = self._tested(results["test"])
        kept = chosen(self.selection_mode, self.threshold, scores, p_values)
        columns = self.doubtful()
        return {
            "scores": dict(zip(columns, scores, strict=True)),
            "p_values": dict(zip(columns, p_values, strict=True)),
            "selected": [columns[place] for place in kept],
        }

    def _tested(self, result: Any) -> association.Tested:
        if self.label_type == "continuous":
            return association.regression(result)
        if self.feature_type == "categorical":
            tables = [result[name] for name in self.doubtful()]
            self._check_classes(len(tables[0].classes))
            return association.chi_squared(tables)
        self._check_classes(len(result.classes))
        return association.analysis_of_variance(result)

    def _check_classes(self, classes: int) -> None:
        if classes < 2:
            raise DataValueError(
                f"label {self.label!r} has {classes} class(es), expected 2 or more",
                hint="Nothing can be told of features where all rows are of one class.",
                column=self.label,
            )

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        numbers = by_column(self.doubtful(), Number())
        return Fields({"scores": numbers, "p_values": numbers, "selected": ListOf(Text(self.doubtful()))})

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return the columns that were not selected."""
        gone = {name: p for name, p in fitted["p_values"].items() if name not in fitted["selected"]}
        reason = f"is not among those that {self.selection_mode} of {self.threshold!r} keeps"
        return {name: f"its p-value, {p:.3g}, {reason}" for name, p in gone.items()}


def _is_categorical(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_null(kind) or (is_numeric(kind) and not pa.types.is_floating(kind))


def best(scores: Sequence[float], p_values: Sequence[float]) -> list[int]:
    """Return the places of the features from the smallest p-value on; of equal ones, as of 0, the larger score first.

    Examples
    --------
    >>> best([1.0, 700.0, 800.0], [0.3, 0.0, 0.0])
    [2, 1, 0]
    """
    return sorted(range(len(scores)), key=lambda place: (p_values[place], -scores[place]))


def chosen(mode: str, threshold: float, scores: Sequence[float], p_values: Sequence[float]) -> list[int]:
    """Return the places of the features to keep, ascending; `mode` and `threshold` as in `UnivariateFeatureSelector`.

    Examples
    --------
    >>> chosen("fdr", 0.05, [0.0] * 4, [0.01, 0.04, 0.03, 0.9])
    [0]
    >>> chosen("fdr", 0.08, [0.0] * 4, [0.01, 0.04, 0.03, 0.9])
    [0, 1, 2]
    """
    ranked, features = best(scores, p_values), len(scores)
    if mode in ("fpr", "fwe"):
        bound = threshold / features if mode == "fwe" else threshold
        return [place for place, p in enumerate(p_values) if p < bound]
    if mode == "fdr":  # Benjamini and Hochberg
        low = [n for n, place in enumerate(ranked, 1) if p_values[place] <= threshold / features * n]
        return sorted(ranked[: max(low, default=0)])
    return sorted(ranked[: int(threshold) if mode == "num_top_features" else int(features * threshold)])
