"""A fitted model as a graph in ONNX: which stages go into it, its inputs and outputs, and the file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.core.errors import ConfigError, PenstockError
from penstock.core.extras import importing, require_module
from penstock.core.known_classes import classes_of_scores
from penstock.core.selectors import is_vector
from penstock.io.sinks import JointCommit
from penstock.io.sinks.staged_file import StagedFile
from penstock.io.sinks.staging import new_run_id
from penstock.pipeline.planned_steps import steps_for
from penstock.stages.capabilities import HasOnnx
from penstock.stages.onnx_graph import OPSETS, OnnxGraph, Tensor, element_type
from penstock.stages.step import StageStep, capability
from penstock.stages.vectors import over

if TYPE_CHECKING:
    from onnx import ModelProto


def onnx_model(
    steps: Sequence[StageStep], schema: pa.Schema, columns: Sequence[str], nullable: Sequence[str], digest: str
) -> ModelProto:
    """Return what gives `columns` of rows of `schema`, by the fitted stages that they depend on.

    Parameters
    ----------
    nullable : sequence of str
        Columns of integers or booleans whose input is float64, so that NaN can be null.
    digest : str
        Of the model, which its metadata have, and the classes of scores as JSON, by column.

    Raises
    ------
    ConfigError
        Stages that ONNX cannot express, each with the reason; or onnx is not installed.
    SchemaError
        The model gives no such column.
    """
    with importing("onnx", "onnx"):
        require_module("onnx")
    kept, given = steps_for(columns, steps, schema)
    sizes = {name: size for step in kept for name, size in over.sizes(step.fitted).items() if name in given.names}
    graph = OnnxGraph({field.name: _input_type(field, nullable) for field in given}, sizes)
    graph.schema = given
    _add_stages(kept, graph)
    lacking = [name for name in columns if name not in graph.columns]
    if lacking:
        raise ConfigError(
            f"ONNX cannot express {', '.join(map(repr, lacking))}", hint="Leave it out: columns= names the outputs."
        )
    return _model(graph, columns, digest)


def _input_type(field: pa.Field, nullable: Sequence[str]) -> pa.DataType:
    if field.name not in nullable or pa.types.is_floating(field.type):
        return field.type
    return pa.list_(pa.float64()) if is_vector(field.type) else pa.float64()


def _add_stages(steps: Sequence[StageStep], graph: OnnxGraph) -> None:
    """Put the stages into the graph; ConfigError, which names all that cannot be, where there are some."""
    reasons = {}
    for step in steps:
        stage = capability(step.stage, HasOnnx)
        if stage is None:
            reasons[step.label] = "ONNX has nothing like it"
        elif not reasons:
            assert step.fitted is not None
            try:
                over.to_onnx(step.stage, graph, step.fitted)
            except PenstockError as error:
                reasons[step.label] = f"{error.message}. {error.hint or ''}".rstrip()
        graph.schema = step.output_schema(graph.schema)
    if reasons:
        each = "; ".join(f"{label}: {reason}" for label, reason in reasons.items())
        raise ConfigError(
            f"{len(reasons)} stage(s) cannot be expressed in ONNX: {each}",
            hint="Export columns that do not depend on them (columns=), and do these stages before, by the model that "
            "has them; or score by model.predict.",
        )


def _model(graph: OnnxGraph, columns: Sequence[str], digest: str) -> ModelProto:
    from onnx import checker, helper

    outputs = [_output(graph, name) for name in columns]
    made = helper.make_graph(
        graph.nodes,
        "penstock",
        [_info(name, tensor, tensor.width) for name, tensor in graph.inputs.items()],
        [_info(tensor.name, tensor, None) for tensor in outputs],
        graph.constants,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    model = helper.make_model(made, opset_imports=opsets, producer_name="penstock")
    model.ir_version = 9
    noted = {name: classes_of_scores(graph.schema, name) for name in columns}
    classes = {name: each for name, each in noted.items() if each}
    told = {"penstock.classes": json.dumps(classes)} if classes else {}
    helper.set_model_props(model, {"penstock.digest": digest, **told})
    checker.check_model(model)
    return model


def _output(graph: OnnxGraph, name: str) -> Tensor:
    """Return an output under the name of its column; with "_out" after it where an input has that name."""
    from onnx import helper

    tensor, called = graph.columns[name], name
    while called in graph.inputs:
        called = f"{called}_out"
    graph.nodes.append(helper.make_node("Identity", [tensor.name], [called]))
    return Tensor(called, tensor.dtype)


def _info(name: str, tensor: Tensor, width: int | None) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, element_type(tensor.dtype), ["rows", width])


def write_model(model: ModelProto, path: str | Path) -> None:
    """Write a model to a file, whole or not at all; one that is there is replaced."""
    with JointCommit(staged := StagedFile(path, run_id=new_run_id())) as joint:
        staged.seal(model.SerializeToString())
        joint.commit()
