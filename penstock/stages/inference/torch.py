"""Networks of PyTorch: a registered module with weights, or a program of ``torch.export``."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import pyarrow as pa

from penstock.core.errors import ArtifactError, ConfigError
from penstock.core.extras import importing
from penstock.frames import Kind
from penstock.stages.base import Blob, Fitted
from penstock.stages.inference._model_file import read_file
from penstock.stages.inference._network import Inference, Network
from penstock.stages.modules import CarriesModule, module_factory
from penstock.stages.shapes import Anything, Fields, Integer, ListOf, Maybe, ModelFile, Text

_KIND = "safetensors"


@dataclass(frozen=True)
class TorchInference(CarriesModule, Inference):
    """Runs a network of PyTorch on every worker, on the GPU where the frame is on one.

    The network is a registered module, whose weights are in a safetensors file, or a program that `torch.export.save`
    wrote. Files are read when the pipeline is fitted and kept in the model, which then scores anywhere. None is ever
    unpickled.

    Parameters
    ----------
    columns, shape, prediction, output_size, batch_size
        See `penstock.stages.inference._network.Inference`: one column of lists of numbers of `shape`, or columns of
        numbers; null in one gives null.
    module : str, optional
        A name of `penstock.register_module`, or ``"resnet18"``.
    module_options : mapping, optional
        What its factory is called with: ``{"num_classes": 10}``.
    weights : str or Path, optional
        The module's weights, a safetensors file or its URL; PyTorch's names.
    program : str or Path, optional
        A file of `torch.export.save`, in place of these three. Export it with an open first dimension:
        ``dynamic_shapes=({0: torch.export.Dim("batch")},)``.

    Raises
    ------
    ConfigError
        Neither or both kinds of network are given; or, before anything is read, shapes do not fit, the program has
        several inputs or outputs, or operators that are not ATen's.
    ArtifactError
        Weights are missing, left over or of other shapes.
    MissingInputError, MissingExtraError
        A file is not there; PyTorch is not installed.
    DataValueError
        When it runs: an infinity, or a list of another length.

    Notes
    -----
    The column is float32 where one number comes out for a row, and else a list of float32, flattened in C order. NaN
    that comes out is null. Only graph and weights of a program are read, and its example inputs, which are pickles, are
    left aside; of the graph ATen operators are run, one by one. What else PyTorch's own loader does with a file, which
    is to evaluate expressions and to import by name, is never done.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"a": [1.0, None], "b": [3.0, 4.0]}))
    >>> from penstock.stages.inference._examples import example
    >>> mean = TorchInference(["a", "b"], program=example("mean.pt2"))
    >>> ps.Pipeline(mean).fit(data).transform(data).to_arrow()["prediction"].to_pylist()
    [2.0, None]
    """

    _: KW_ONLY
    module: str | None = None  # type: ignore[assignment]
    module_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    weights: str | None = None
    program: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weights", "program"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, os.fspath(getattr(self, name)))
        given = tuple(getattr(self, name) is not None for name in ("module", "weights", "program"))
        if given not in ((True, True, False), (False, False, True)):
            raise ConfigError(
                f"{self.title} has module={self.module!r}, weights={self.weights!r} and program={self.program!r}",
                hint="Pass module and weights, or program alone.",
                stage=self.title,
            )

    def _read(self) -> Fitted:
        path = self.weights or self.program or ""
        data, sha256 = read_file(path, self.title)
        if self.weights is not None:
            return {"weights": Blob(_KIND, data), "sha256": sha256}
        self._require()
        from penstock.stages.inference._exported import read_program

        try:
            graph, weights = read_program(data)
        except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise ConfigError(
                f"{path} is no program of torch.export that can be taken: {error}",
                hint="Export the network to ONNX for OnnxInference, or register its module and save its state_dict as"
                " safetensors.",
                path=path,
                stage=self.title,
            ) from error
        return {"graph": graph, "weights": Blob(_KIND, weights), "sha256": sha256}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        return Fields(
            {"weights": ModelFile(_KIND), "sha256": Text()}, {} if self.program is None else {"graph": _GRAPH}
        )

    def _load(self, fitted: Fitted, kind: Kind) -> Network:
        self._require()
        from penstock.stages.inference import _torch

        try:
            if "graph" in fitted:
                return _torch.exported(json.dumps(fitted["graph"]), fitted["weights"], kind)
            name, options = str(self.module), json.dumps(dict(self.module_options), sort_keys=True)
            return _torch.registered(module_factory(name), name, options, fitted["weights"], kind)
        except (ConfigError, ArtifactError) as error:
            raise error.at(stage=self.title, path=self.weights or self.program) from error.__cause__

    def _require(self) -> None:
        with importing("PyTorch", "torch", self.title):
            import safetensors  # noqa: F401
            import torch  # noqa: F401


_GRAPH = Fields({"input": Text(), "takes": ListOf(Maybe(Integer())), "nodes": ListOf(Anything()), "output": Text()})
"""What `read_program` keeps of a program; each of its nodes is checked before it runs."""
