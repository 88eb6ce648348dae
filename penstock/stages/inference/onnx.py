"""Networks in ONNX, run by ONNX Runtime."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.extras import importing
from penstock.frames import Kind
from penstock.stages.base import Blob, Fitted
from penstock.stages.inference._model_file import read_file
from penstock.stages.inference._network import Inference, Network
from penstock.stages.inference._onnx_file import check_onnx
from penstock.stages.shapes import Fields, ModelFile, Text

_KIND = "onnx"


@dataclass(frozen=True)
class OnnxInference(Inference):
    """Runs a network in ONNX on every worker, on the GPU where the frame is on one.

    The file is read when the pipeline is fitted and kept in the model, which then scores anywhere.

    Parameters
    ----------
    columns, shape, prediction, output_size, batch_size
        See `penstock.stages.inference._network.Inference`: one column of lists of numbers of `shape`, or columns of
        numbers; null in one gives null. The shape is taken from the file where that says it.
    path : str or Path
        The file, or its URL, with the weights in it.
    output : str, optional
        Which output to take; needed where the network has several.

    Raises
    ------
    ConfigError
        Before anything is read: the file is no ONNX model, its weights lie in other files, or its input, output, shape
        or type is not what the columns give.
    MissingInputError, MissingExtraError
        The file is not there; ONNX Runtime is not installed.
    DataValueError
        When it runs: an infinity, or a list of another length.

    Notes
    -----
    The column is float32 where one number comes out for a row, and else a list of float32, flattened in C order. NaN
    that comes out is null.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"a": [1.0, None], "b": [3.0, 4.0]}))
    >>> from penstock.stages.inference._examples import example
    >>> mean = OnnxInference(["a", "b"], example("mean.onnx"))
    >>> ps.Pipeline(mean).fit(data).transform(data).to_arrow()["prediction"].to_pylist()
    [2.0, None]
    """

    path: str
    _: KW_ONLY
    output: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "path", os.fspath(self.path))

    def _read(self) -> Fitted:
        data, sha256 = read_file(self.path, self.title)
        try:
            check_onnx(data)
        except ValueError as error:
            raise ConfigError(
                f"{self.path} is no ONNX file that can be taken: {error}",
                hint="Export it into one file: torch.onnx.export(..., external_data=False).",
                path=self.path,
                stage=self.title,
            ) from error
        return {"network": Blob(_KIND, data), "sha256": sha256}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Fields:
        return Fields({"network": ModelFile(_KIND), "sha256": Text()})

    def _load(self, fitted: Fitted, kind: Kind) -> Network:
        with importing("ONNX Runtime", "onnx", self.title):
            from penstock.stages.inference._onnx import session
        try:
            return session(fitted["network"], self.output, kind)
        except ConfigError as error:
            raise error.at(stage=self.title, path=self.path) from error.__cause__
