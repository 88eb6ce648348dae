"""What a fitted model hands on: to Spark, to ONNX, and as tables what it says of its features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.names import column_names
from penstock.pipeline.foreign_frames import spark_function
from penstock.stages.base import Fitted
from penstock.stages.capabilities import HasCoefficients, HasImportances
from penstock.stages.step import StageStep, capability
from penstock.stages.vectors.over import over_elements

if TYPE_CHECKING:
    from onnx import ModelProto

    from penstock.pipeline.model import PipelineModel


class ModelExports:
    """The part of a model that other tools meet."""

    def to_spark_udf(self, columns: str | Sequence[str] | None = None) -> Any:
        """Return a function of Spark's columns, for `withColumn`, `select` and, registered by a name, for SQL.

        It takes `input_columns` in their order, and gives the numbers of `transform`; a batch of rows at a time, by
        Arrow, on CPUs. ``frame.withColumn("score", model.to_spark_udf("prediction")(*model.input_columns))``.

        Parameters
        ----------
        columns : str or sequence of str, optional
            What to return, as of `predict`. One column is returned as it is, several as a struct of them.

        Raises
        ------
        ConfigError
            A stage leaves rows out, or goes by their numbers; or pyspark is not installed.
        SchemaError
            The model makes no such column, or Spark has no such type.
        """
        model = cast("PipelineModel", self)
        wanted = column_names(columns, "columns of to_spark_udf") if columns is not None else model.output_columns
        given = pa.schema([model.schema.field(name) for name in model.input_columns])
        return spark_function(given, lambda dataset: model.transform(dataset).select(list(wanted)), "to_spark_udf")

    def to_onnx(
        self,
        path: str | Path | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        nullable: str | Sequence[str] = (),
    ) -> ModelProto:
        """Return the model as a graph in ONNX, which other runtimes score by, and write it to a file.

        Parameters
        ----------
        path : str or Path, optional
            The local file; one that is there is replaced.
        columns : str or sequence of str, optional
            The outputs, as of `predict`: what the last stage makes, unless given. Only what they depend on is exported.
        nullable : str or sequence of str, optional
            Columns of integers or booleans of which values may be missing: their inputs are float64.

        Returns
        -------
        onnx.ModelProto

        Raises
        ------
        ConfigError
            Before anything is written: stages, or parameters of theirs, that ONNX cannot express, by name, with what to
            do; or onnx is not installed.
        SchemaError
            The model gives no such column.

        Notes
        -----
        There is an input for each of `input_columns` that the outputs depend on, of shape (rows, 1) and of the type in
        `schema`; of a dense vector of shape (rows, length). Null is NaN in a floating input and the empty string in one
        of strings; other types have none. An output has the name of its column, with ``_out`` after it where an input
        has that name, and shape (rows, 1), or (rows, n) for lists. Numbers are those of `transform` within 1e-6, codes
        and classes are equal. ONNX has no errors and no null in integers and strings: what a stage refuses, an infinity
        say, goes through, and of a row whose class is null in `transform`, trust the NaN of the scores.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, None, 3.0]}))
        >>> model = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(data).to_onnx()
        >>> [each.name for each in model.graph.input], [each.name for each in model.graph.output]
        (['x'], ['x_out'])
        """
        from penstock.pipeline.onnx_export import onnx_model, write_model

        model = cast("PipelineModel", self)
        wanted = model.output_columns if columns is None else column_names(columns, "columns of to_onnx")
        missing = column_names(nullable, "nullable of to_onnx") if nullable else ()
        made = onnx_model(model.steps, model.schema, wanted, missing, model.digest)
        if path is not None:
            write_model(made, path)
        return made

    def importances(self) -> pa.Table:
        """Return how much each feature matters to the last stage of trees, by each kind of importance.

        Returns
        -------
        pyarrow.Table
            ``feature``, ``value`` (float64), and ``kind``: "gain", "total_gain", "weight", "cover" or "total_cover",
            see `xgboost.Booster.get_score`; of each kind the highest first. A feature that no tree uses is not there.

        Raises
        ------
        ConfigError
            No stage has importances.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0] * 50, "z": [5.0] * 100, "y": [0, 1] * 50}))
        >>> model = ps.Pipeline(st.XGBoostClassifier("y", num_boost_round=3)).fit(data)
        >>> table = model.importances()
        >>> table.filter(pa.compute.equal(table["kind"], "weight")).to_pylist()
        [{'feature': 'x', 'value': 3.0, 'kind': 'weight'}]
        """
        steps = cast("PipelineModel", self).steps
        stage, fitted = _last(steps, HasImportances, "importances", "trees have: XGBoost and random forests")
        rows = [
            {"feature": feature, "value": value, "kind": kind}
            for kind, each in stage.importances(fitted).items()
            for feature, value in each.items()
        ]
        schema = pa.schema({"feature": pa.string(), "value": pa.float64(), "kind": pa.string()})
        return pa.Table.from_pylist(rows, schema)

    def coefficients(self) -> pa.Table:
        """Return the coefficients of the last linear stage, the intercept last.

        Returns
        -------
        pyarrow.Table
            ``feature`` ("(intercept)" for that), ``value`` (float64), ``kind`` ("coefficient" or "intercept"),
            ``class`` (string: whose margin it is, of several classes), and ``standard_error``, ``t_value`` and
            ``p_value`` where they were inferred, of linear regressions without a penalty say; null elsewhere.

        Raises
        ------
        ConfigError
            No stage has coefficients.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> from penstock import stages as st
        >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0]}))
        >>> model = ps.Pipeline(st.LinearRegression("y", reg_param=1e-9)).fit(data)
        >>> [(row["feature"], round(row["value"], 3)) for row in model.coefficients().to_pylist()]
        [('x', 2.0), ('(intercept)', 1.0)]
        """
        others = "linear, logistic and generalised models have"
        stage, fitted = _last(cast("PipelineModel", self).steps, HasCoefficients, "coefficients", others)
        return stage.coefficients(fitted)


Capability = TypeVar("Capability")


def _last(
    steps: Sequence[StageStep], kind: Callable[..., Capability], what: str, others: str
) -> tuple[Capability, Fitted]:
    for step in reversed(steps):
        if capability(step.stage, kind) is not None:
            assert step.fitted is not None
            inner, fitted = over_elements(step.stage, step.fitted)
            return cast(Capability, inner), fitted
    raise ConfigError(
        f"no stage of the model has {what}; its stages are {', '.join(step.label for step in steps) or 'none'}",
        hint=f"Those of {others}. What moved one prediction: contributions=True of the XGBoost stages (SHAP values).",
    )
