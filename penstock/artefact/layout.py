"""Which files a model directory may hold, and how each is recognised.

====================  =====================================================================
``_manifest.json``    every other file with size and sha256; written last
``pipeline.json``     the stages: registry name, version, parameters; the name given by the user, if any; and the
                      evaluators: registry name, parameters, and the prefix of their metrics, if any
``schema.json``       the columns that the model was fitted on
``state/<n>.json``    what stage n learned; tables and model files are named in it
``state/<n>.<k>.parquet``  the k-th table of stage n
``statistics/<n>.json``  what was gathered for stage n, where the model keeps it; tables are named in it
``statistics/<n>.<k>.parquet``  the k-th table of these
``booster/<n>.<k>.ubj``  ... model file of stage n: an XGBoost model
``weights/<n>.<k>.safetensors``  ... the weights of a PyTorch module
``estimator/<n>.<k>.skops``  ... a scikit-learn estimator
``network/<n>.<k>.onnx``  ... a network in ONNX
``profile.json``      how the rows were distributed that later ones are compared with, if the model keeps it
``report.json``       metrics, lineage, versions and the fit report, for people; never parsed at loading
====================  =====================================================================
"""

from __future__ import annotations

import re

from penstock.core.errors import UntrustedArtifactError
from penstock.io.sinks import MANIFEST_NAME

PIPELINE = "pipeline.json"
SCHEMA = "schema.json"
REPORT = "report.json"
PROFILE = "profile.json"
FIXED = (PIPELINE, SCHEMA, REPORT)

JSON_LIMIT = 64 * 2**20
MANIFEST_LIMIT = 16 * 2**20

_EXPANSION = 64
_ALWAYS_ALLOWED = 64 * 2**20

JSON = "json"
PARQUET = "parquet"
UBJSON = "xgboost-ubj"
SAFETENSORS = "safetensors"
SKOPS = "skops"
ONNX = "onnx"

NAMES = "stage-names"
"""The feature of a model some of whose stages have names: the code before does not read them."""

EVALUATORS = "saved-evaluators"
"""The feature of a model that has evaluators, as for names."""

DRIFT = "drift-profile"
"""The feature of a model that has a profile, as for names."""

_BLOBS = {
    UBJSON: ("booster", "ubj"),
    SAFETENSORS: ("weights", "safetensors"),
    SKOPS: ("estimator", "skops"),
    ONNX: ("network", "onnx"),
}
BLOB_KINDS = tuple(_BLOBS)
_PARTS = {PARQUET: ("state", "parquet"), **_BLOBS}
_SLOTS = {
    r"(pipeline|schema|report|profile)\.json|(state|statistics)/\d{1,4}\.json": JSON,
    r"statistics/\d{1,4}\.\d{1,6}\.parquet": PARQUET,
} | {rf"{folder}/\d{{1,4}}\.\d{{1,6}}\.{suffix}": kind for kind, (folder, suffix) in _PARTS.items()}
_BEGINS = {
    JSON: rb"\{",
    PARQUET: rb"PAR1",
    UBJSON: rb"\{L",
    SAFETENSORS: rb".{8}\{",
    SKOPS: rb"PK\x03\x04",
    ONNX: rb"\x08",
}
_MAGIC = (
    (rb"\x80[\x00-\x05]", "a pickle"),
    (rb"PK(\x03\x04|\x05\x06|\x07\x08)", "a zip file (PyTorch or NumPy, perhaps)"),
    (rb"\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|\x78[\x01\x5e\x9c\xda]", "compressed data (joblib, perhaps)"),
    (rb"\x93NUMPY", "a NumPy array file"),
    (rb"\x89HDF", "an HDF5 file"),
    (rb"\x7fELF|MZ|#!", "a program"),
    (rb"PAR1", "Parquet"),
    (rb"\{L\x00", "UBJSON"),
    (rb"\s*[\[{]", "JSON"),
)


def kind_of(path: str) -> str | None:
    """Return what the file at a relative path is read as, or None where no file may be.

    Examples
    --------
    >>> kind_of("state/3.0.parquet"), kind_of("state/../x.json")
    ('parquet', None)
    """
    return next((kind for pattern, kind in _SLOTS.items() if re.fullmatch(pattern, path)), None)


def state_path(stage: int) -> str:
    """Return the path of what stage number `stage` learned."""
    return f"state/{stage}.json"


def part_path(stage: int, part: int, kind: str) -> str:
    """Return the path of a table or model file of a stage.

    Examples
    --------
    >>> part_path(3, 0, UBJSON)
    'booster/3.0.ubj'
    """
    folder, suffix = _PARTS[kind]
    return f"{folder}/{stage}.{part}.{suffix}"


def is_part(path: str, stage: int, *, blob: bool, folder: str = "state") -> bool:
    """Return whether a path is that of a model file of a stage, or of a table of what it learned, or of its statistics.

    Examples
    --------
    >>> is_part("booster/3.0.ubj", 3, blob=True), is_part("booster/3.0.ubj", 3, blob=False)
    (True, False)
    """
    kinds = BLOB_KINDS if blob else (PARQUET,)
    place, _, name = path.partition("/")
    return kind_of(path) in kinds and name.startswith(f"{stage}.") and (blob or place == folder)


def stage_of(path: str) -> int | None:
    """Return the number of the stage that a file is of, None where it is of all.

    Examples
    --------
    >>> stage_of("state/3.0.parquet"), stage_of("schema.json")
    (3, None)
    """
    found = re.fullmatch(r"[a-z]+/(\d{1,4})\.(\d{1,6}\.)?[a-z]+", path)
    return None if found is None else int(found[1])


def largest_content(size: int) -> int:
    """Return how many bytes a file of `size` bytes may hold once it is decoded: what we save holds no more.

    Examples
    --------
    >>> largest_content(2**30) // 2**30
    64
    """
    return max(_ALWAYS_ALLOWED, _EXPANSION * size)


def detect(data: bytes) -> str:
    """Return in words what a file's first bytes look like; nothing is parsed.

    Examples
    --------
    >>> import pickle
    >>> detect(pickle.dumps([1]))
    'a pickle'
    """
    head = data[:300]
    return next((name for magic, name in _MAGIC if re.match(magic, head, re.DOTALL)), "of no known type")


def check_magic(data: bytes, path: str) -> None:
    """Raise UntrustedArtifactError unless a file begins as the files of its slot do; there is no other loader."""
    kind = JSON if path == MANIFEST_NAME else kind_of(path)
    if (
        kind is None
        or not re.match(_BEGINS[kind], data, re.DOTALL)
        or (kind == PARQUET and not data.endswith(rb"PAR1"))
    ):
        raise UntrustedArtifactError(
            f"{path} is {detect(data)}, expected {kind}",
            hint="Only models written by this library are loaded; no other format is tried.",
            path=path,
        )
