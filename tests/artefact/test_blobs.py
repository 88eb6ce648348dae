"""Model files of other libraries are looked at before the library that reads them sees a byte."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors

from penstock.artefact.blobs import check_blob
from penstock.artefact.layout import ONNX, SAFETENSORS, SKOPS
from penstock.errors import UntrustedArtifactError
from penstock.stages.base import Blob

TENSORS = save_tensors(
    {
        "weight": np.ones((3, 2), np.float32),
        "bias": np.zeros(3, np.float64),
        "steps": np.array(7),
        "on": np.array([True]),
    },
    metadata={"format": "pt"},
)


def check(kind: str, data: bytes) -> None:
    check_blob(Blob(kind, data), "weights/0.0", (), "Net", trusted=True)


def tensors(header: dict, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def zipped(**members: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def entry(begin: int, stop: int, shape: list, dtype: str = "F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, stop]}


def test_weights_whose_header_lies_are_refused(subtests):
    check(SAFETENSORS, TENSORS)
    for data, reason in (
        (TENSORS[:-1], "bytes of tensors, expected"),
        (TENSORS + b"x", "bytes of tensors, expected"),
        ((1 << 40).to_bytes(8, "little") + TENSORS[8:], "header is said to have"),
        (tensors({"a": entry(0, 4, [1]), "b": entry(2, 6, [1])}, bytes(6)), "'b' begins at 2, expected 4"),
        (tensors({"a": entry(4, 8, [1])}, bytes(8)), "'a' begins at 4, expected 0"),
        (tensors({"a": entry(0, 4, [2])}, bytes(4)), r"'a' has 4 bytes for \[2\]"),
        (tensors({"a": entry(0, 4, [1], "PICKLE")}, bytes(4)), "dtype 'PICKLE' is not known"),
        (tensors({"a": entry(0, 4, [-1])}, bytes(4)), r"shape is \[-1\]"),
        (tensors({"a": {"dtype": "F32"}}, b""), "data_offsets"),
        (tensors([1], b""), "no object"),
        (tensors({"a": entry(0, 4, [2**40] * 100_000)}, bytes(4)), "too many dimensions"),
        ((200_000).to_bytes(8, "little") + b'{"a":' + b"[" * 100_000 + b"]" * 100_000, "nested deeper|not acceptable"),
        (b"\x08\x00\x00\x00\x00\x00\x00\x00{broken}", "no safetensors file"),
    ):
        with subtests.test(reason), pytest.raises(UntrustedArtifactError, match=reason):
            check(SAFETENSORS, data)


def test_a_pickle_in_an_archive_is_refused_however_deep():
    bad = pickle.dumps({"a": 1}, protocol=2)
    check(SKOPS, zipped(**{"schema.json": b"{}", "data/0": b"\x00" * 10}))
    for content in (bad, zipped(data=bad), zipped(more=zipped(data=bad))):
        with pytest.raises(UntrustedArtifactError, match="is a pickle"):
            check(SKOPS, zipped(**{"schema.json": b"{}", "data/0": content}))


@pytest.mark.thorough
def test_an_archive_that_swells_is_refused_before_it_is_read():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"{}")
        archive.writestr("data", b"PK\x03\x04" + bytes(200 * 2**20))
    with pytest.raises(UntrustedArtifactError, match=r"its members have 209715206 bytes in 2\d{5}"):
        check(SKOPS, sink.getvalue())


def test_an_archive_or_a_network_that_is_not_whole_is_refused(subtests):
    archive = zipped(**{"schema.json": b"{}"})
    entry_of_member = archive.index(b"PK\x01\x02")
    encrypted, packed = bytearray(archive), bytearray(archive)
    encrypted[entry_of_member + 8] |= 1
    packed[entry_of_member + 10] = 97
    for kind, data, reason in (
        (SKOPS, bytes(encrypted), "is encrypted"),
        (SKOPS, bytes(packed), "in an unknown way"),
        (SKOPS, zipped(**{"../schema.json": b"{}"}), "leaves its folder"),
        (SKOPS, zipped(**{"/etc/passwd": b"{}"}), "leaves its folder"),
        (SKOPS, zipped(data=b"1"), r"no schema\.json"),
        (SKOPS, zipped(data=b"1")[:-5], "not a zip file"),
        (ONNX, b"\x08\x01\x3a", "cut off at byte 3"),
    ):
        with subtests.test(reason), pytest.raises(UntrustedArtifactError, match=reason):
            check(kind, data)
