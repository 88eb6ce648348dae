"""What each kind of model file must be before the library that reads it may see it."""

from __future__ import annotations

import io
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from penstock.artefact.checks import need
from penstock.artefact.layout import ONNX, SAFETENSORS, SKOPS, UBJSON, largest_content
from penstock.core.errors import ConfigError, UntrustedArtifactError
from penstock.io.sinks import read_json
from penstock.stages.base import Blob
from penstock.stages.inference._onnx_file import check_onnx
from penstock.stages.training.trees.model_file.booster import check_features, read_booster

_HEADER_LIMIT = 100 * 2**20
_DTYPE = r"BOOL|[IU](8|16|32|64)|F(16|32|64)|BF16|C64|F8_E4M3|F8_E5M2"
_WIDTHS = {"BOOL": 8, "BF16": 16, "C64": 64, "F8_E4M3": 8, "F8_E5M2": 8}
_ZIP = b"PK\x03\x04"
_ENCRYPTED = 0x1
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAX_DEPTH = 4
_MAX_DIMENSIONS = 64
_PICKLE = rb"\x80[\x00-\x05]"


def check_blob(blob: Blob, path: str, columns: Sequence[str], stage: str, *, trusted: bool) -> None:
    """Refuse a model file that is not what its kind says.

    Parameters
    ----------
    blob : Blob
    path : str
        Its place in the model, for errors.
    columns : sequence of str
        The inputs of its stage; a booster was trained on exactly these.
    trusted : bool
        The whole model has the digest that the caller expects, so a booster's trees are not walked.

    Raises
    ------
    UntrustedArtifactError
        It could run code, or crash its reader.
    ArtifactError
        A booster has other features.
    """
    if blob.kind == UBJSON:
        check_features(read_booster(blob.data, path, trusted=trusted), columns, path, stage)
        return
    try:
        _CHECKS[blob.kind](blob.data)
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UntrustedArtifactError(
            f"{path} is no {blob.kind} file that can be loaded without running code: {error}",
            hint="Save the model again with this library.",
            path=path,
            stage=stage,
        ) from error


def _check_safetensors(data: bytes) -> None:
    """Demand a header whose tensors fill the rest without gap or overlap; see the format's README."""
    length = int.from_bytes(data[:8], "little")
    need(2 <= length <= min(_HEADER_LIMIT, len(data) - 8), f"its header is said to have {length} bytes")
    header: Any = read_json(data[8 : 8 + length], _HEADER_LIMIT, path="its header", error=ConfigError)
    need(isinstance(header, dict), "its header is no object")
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    end = 0
    for name, entry in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        need(begin == end, f"tensor {name!r} begins at {begin}, expected {end}")
        need(
            (stop - begin) * 8 == _bits(entry["dtype"], entry["shape"]),
            f"tensor {name!r} has {stop - begin} bytes for {entry['shape']}",
        )
        end = stop
    need(end == len(data) - 8 - length, f"it has {len(data) - 8 - length} bytes of tensors, expected {end}")


def _bits(kind: Any, shape: Any) -> int:
    need(isinstance(kind, str) and re.fullmatch(_DTYPE, kind), f"dtype {kind!r} is not known")
    need(isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS, "a tensor has too many dimensions")
    need(all(type(size) is int and 0 <= size < 2**63 for size in shape), f"shape is {shape!r}")
    return int(math.prod(shape) * (_WIDTHS.get(kind) or int(kind[1:])))


def _check_archive(data: bytes, depth: int = 0) -> None:
    """Demand an archive in which no member is a pickle, an archive with one, or leaves its folder; and no bomb."""
    need(depth < _MAX_DEPTH, f"archives lie in each other more than {_MAX_DEPTH} deep")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        need(size <= largest_content(len(data)), f"its members have {size} bytes in {len(data)}")
        for member in members:
            name = member.filename
            need(".." not in name.split("/") and not name.startswith("/"), f"member {name!r} leaves its folder")
            need(not member.flag_bits & _ENCRYPTED, f"member {name!r} is encrypted")
            need(member.compress_type in _COMPRESSIONS, f"member {name!r} is compressed in an unknown way")
            with archive.open(member) as file:
                begin = file.read(4)
                need(not re.match(_PICKLE, begin), f"member {name!r} is a pickle")
                if begin == _ZIP:
                    _check_archive(begin + file.read(), depth + 1)


def _check_skops(data: bytes) -> None:
    """Demand what skops writes; which types it may make is decided again by skops, when it is read."""
    _check_archive(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        need("schema.json" in archive.namelist(), "it has no schema.json")


_CHECKS: dict[str, Callable[[bytes], None]] = {SAFETENSORS: _check_safetensors, SKOPS: _check_skops, ONNX: check_onnx}
