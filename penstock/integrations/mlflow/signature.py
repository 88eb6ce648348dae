"""The columns of a model as MLflow declares them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from mlflow.models import ModelSignature
from mlflow.types.schema import AnyType, Array, ColSpec, DataType, Schema

from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.names import column_names
from penstock.dataset.steps import output_schema
from penstock.pipeline.model import PipelineModel

_WITHIN_32_BITS = {pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()}


def infer_signature(model: PipelineModel, *, nullable: str | Sequence[str] = ()) -> ModelSignature:
    """Return what a model reads and what `PipelineModel.predict` returns, from its schema; no rows are needed.

    Parameters
    ----------
    model : PipelineModel
    nullable : str or sequence of str, optional
        Columns of integers or booleans of which values may be missing: pandas makes floats or objects of them, which
        MLflow refuses for integers and booleans. They are declared as ``Any``, and checked by the model.

    Returns
    -------
    mlflow.models.ModelSignature
        Inputs are `input_columns`, all required. A type that MLflow does not have, a decimal say, is ``Any``.

    Raises
    ------
    ConfigError
        The model reads no column of that name.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, None, 3.0], "n": [1, 2, 3]}))
    >>> model = ps.Pipeline(st.Imputer("x"), st.MinMaxScaler(["x", "n"])).fit(data)
    >>> infer_signature(model, nullable="n").inputs
    ['x': double (required), 'n': Any (required)]
    """
    anything = set(column_names(nullable, "nullable of infer_signature")) if nullable else set()
    for name in anything - set(model.input_columns):
        near = did_you_mean(name, model.input_columns)
        raise ConfigError(f"nullable names {name!r}, which is no column that the model reads.{near}", column=name)
    inputs = [
        ColSpec(AnyType() if name in anything else column_type(model.schema.field(name).type), name)
        for name in model.input_columns
    ]
    schema = output_schema(model.steps, model.schema)
    outputs = [ColSpec(column_type(schema.field(name).type), name) for name in model.output_columns]
    return ModelSignature(Schema(inputs), Schema(outputs))


def column_type(kind: pa.DataType) -> DataType | Array | AnyType:
    """Return what MLflow calls a type; an integer of 64 bits without a sign is a double.

    Examples
    --------
    >>> column_type(pa.int32()), column_type(pa.date32()), column_type(pa.list_(pa.float64()))
    (integer, datetime, Array(double))
    """
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Array(column_type(kind.value_type))
    if pa.types.is_dictionary(kind):
        return column_type(kind.value_type)
    if pa.types.is_integer(kind):
        whole = DataType.integer if kind in _WITHIN_32_BITS else DataType.long
        return DataType.double if kind == pa.uint64() else whole
    tests = {
        DataType.boolean: pa.types.is_boolean,
        DataType.double: pa.types.is_float64,
        DataType.float: pa.types.is_floating,
        DataType.string: lambda each: pa.types.is_string(each) or pa.types.is_large_string(each),
        DataType.binary: pa.types.is_binary,
        DataType.datetime: lambda each: pa.types.is_timestamp(each) or pa.types.is_date(each),
    }
    return next((name for name, fits in tests.items() if fits(kind)), AnyType())
