"""Pictures in files: decoded, classified by a trained network on every worker, the best class and its probability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, Field

import penstock as ps
from penstock import stages as st
from penstock.stages.evaluation import Evaluator
from penstock.stages.preprocessing.images.decode_image import IMAGENET_MEAN, IMAGENET_STD


@ps.register_function("images: best class")
def best_class(scored: pa.Table) -> pa.Table:
    """Return the class of the largest margin, and its probability by the softmax; null where there is no picture."""
    margins = scored["margins"].combine_chunks()
    known = margins.is_valid().to_numpy(zero_copy_only=False)
    best, probability = np.zeros(len(margins), np.int32), np.zeros(len(margins), np.float32)
    if known.any():
        rows = np.stack(margins.drop_null().to_numpy(zero_copy_only=False))
        powers = np.exp(rows - rows.max(axis=1, keepdims=True))
        best[known] = rows.argmax(axis=1)
        probability[known] = powers.max(axis=1) / powers.sum(axis=1)
    return pa.table({"class": pa.array(best, mask=~known), "confidence": pa.array(probability, mask=~known)})


class Parameters(BaseModel, extra="forbid"):
    """What `conf/pipelines/images.yaml` and ``--set`` can change; `weights` must be given."""

    weights: str
    module: str = "resnet18"
    module_options: dict[str, Any] = {}
    size: int = Field(default=224, ge=1)
    short_side: int = Field(default=256, ge=1)
    mode: str = "RGB"
    batch_size: int = Field(default=64, ge=1)


def build(parameters: Parameters) -> ps.Pipeline:
    """Return the pipeline; fitting it reads the weights, which the model then holds."""
    colours = parameters.mode == "RGB"
    return ps.Pipeline(
        st.DecodeImage(
            size=(parameters.size, parameters.size),
            short_side=parameters.short_side,
            mode=parameters.mode,
            mean=IMAGENET_MEAN if colours else None,
            std=IMAGENET_STD if colours else None,
        ),
        st.TorchInference(
            "image",
            shape=(3 if colours else 1, parameters.size, parameters.size),
            module=parameters.module,
            module_options=parameters.module_options,
            weights=parameters.weights,
            prediction="margins",
            batch_size=parameters.batch_size,
        ),
        st.FunctionStage("images: best class", "margins", {"class": "int32", "confidence": "float32"}, frame="arrow"),
    )


def evaluators(parameters: Parameters) -> list[Evaluator]:
    """Return none: the pictures have no label."""
    return []
