"""Files with hashes that fit them, made by somebody who knows the format."""

import io
import itertools
import json
import pickle
import subprocess
import sys
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import PipelineModel
from penstock.errors import ArtifactError, ArtifactIntegrityError, UntrustedArtifactError

JSON_SLOTS = ["_manifest.json", "pipeline.json", "schema.json", "report.json", "state/0.json"]
SLOTS = [*JSON_SLOTS, "state/2.0.parquet", "booster/3.1.ubj"]


EVALUATOR = {"evaluator": "RegressionEvaluator", "parameters": {"label": "y"}}
EVALUATORS = [
    1,
    {},
    [1],
    [EVALUATOR] * 1001,
    [{"evaluator": "RegressionEvaluator"}],
    [EVALUATOR | {"version": 1}],
    [EVALUATOR | {"evaluator": 5}],
    [EVALUATOR | {"evaluator": "Imputer"}],
    [EVALUATOR | {"evaluator": "antigravity.Evaluator"}],
    [EVALUATOR | {"name": 5}],
    [EVALUATOR | {"name": "a"}, EVALUATOR],
    [EVALUATOR | {"name": "a"}, EVALUATOR | {"name": "a"}],
    [EVALUATOR | {"parameters": []}],
    [EVALUATOR | {"parameters": {"no": 5}}],
    [EVALUATOR | {"parameters": {"quantile": "half"}}],
    [EVALUATOR | {"parameters": {"metrics": ["no"]}}],
    [EVALUATOR | {"parameters": {"label": {"$table": "state/2.0.parquet"}}}],
]


def zipped() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("data.pkl", b"x")
    return sink.getvalue()


FORMATS = [
    *((pickle.dumps({"a": 1}, protocol), "a pickle") for protocol in (2, 4, 5)),
    (pickle.dumps({"a": 1}, 0), "of no known type"),
    (zipped(), "a zip file"),
    (b"\x1f\x8b\x08", "compressed data"),
    (b"\x93NUMPY\x01\x00", "a NumPy array"),
    (b"", "of no known type"),
]


def test_another_format_in_any_slot_is_named(saved, replaced, subtests):
    for path, (data, what) in itertools.product(SLOTS, FORMATS):
        refused = pytest.raises(UntrustedArtifactError, match=f"{path} is {what}")
        with subtests.test(path=path, data=data), replaced(path, data), refused:
            PipelineModel.load(saved)


def test_a_pickle_in_place_of_the_directory_is_named(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps([1]))
    with pytest.raises(UntrustedArtifactError, match=r"model.pkl is a file, a pickle"):
        PipelineModel.load(tmp_path / "model.pkl")


def test_json_that_is_not_strict_is_refused(saved, replaced, subtests):
    for path in ("pipeline.json", "schema.json", "state/0.json", "_manifest.json"):
        refused = pytest.raises(ArtifactError, match="appears twice")
        with subtests.test(path=path), replaced(path, b'{"a": 1, "a": 2}'), refused:
            PipelineModel.load(saved)


DOCUMENTS = [
    ("pipeline.json", {}),
    ("pipeline.json", {"stages": {}}),
    ("pipeline.json", {"stages": [1]}),
    ("pipeline.json", {"stages": [{"stage": "Imputer"}]}),
    ("pipeline.json", {"stages": [{"stage": "Imputer", "version": True, "parameters": {}}]}),
    ("pipeline.json", {"stages": [{"stage": "Imputer", "version": 1, "parameters": {}}]}),
    ("pipeline.json", {"stages": [{"stage": "Imputer", "version": 1, "parameters": {"columns": 5}}]}),
    ("pipeline.json", {"stages": [{"stage": "Imputer", "version": 1, "parameters": {"no": 5}}]}),
    ("pipeline.json", {"stages": [{"stage": "Imputer", "version": 1, "parameters": {"columns": {"$table": "x"}}}]}),
    ("pipeline.json", {"stages": []}),
    ("pipeline.json", {"stages": [], "more": []}),
    ("schema.json", {"columns": 1}),
    ("schema.json", {"columns": [{"name": "x"}]}),
    ("schema.json", {"columns": [{"name": "x", "type": "extension"}]}),
    ("schema.json", {"columns": [{"name": "x", "type": {"list": {"list": 5}}}]}),
    ("schema.json", {"columns": [{"name": "x", "type": {"timestamp": ["us", 5]}}]}),
    ("schema.json", {"columns": [{"name": "y", "type": "double"}]}),
    ("state/0.json", {"$exec": "x"}),
    ("state/0.json", {"values": {"$table": "state/2.0.parquet"}}),
    ("state/0.json", {"values": {"$table": "../../x"}}),
    ("state/0.json", {"values": {"$blob": "booster/3.1.ubj"}}),
    ("state/0.json", {"values": {"$float": "1e5"}}),
    ("state/2.json", {"categories": {}}),
    ("state/2.json", {"a": {"$table": "state/2.0.parquet"}, "b": {"$table": "state/2.0.parquet"}}),
    ("state/2.json", {"$table": "state/2.0.parquet"}),
]


def test_a_document_of_another_shape_is_refused(saved, replaced, subtests):
    for path, document in DOCUMENTS:
        refused = pytest.raises(ArtifactError)
        with subtests.test(path=path, document=document), replaced(path, json.dumps(document).encode()), refused:
            PipelineModel.load(saved)


def test_evaluators_of_another_shape_are_refused_as_such(saved, replaced, subtests):
    document = json.loads((saved / "pipeline.json").read_text())
    for listed in EVALUATORS:
        data = json.dumps(document | {"evaluators": listed}).encode()
        refused = pytest.raises(ArtifactError, match=r"[Ee]valuator|refers to the file")
        with subtests.test(str(listed)[:60]), replaced("pipeline.json", data), refused:
            PipelineModel.load(saved)
    assert "antigravity" not in sys.modules


def test_a_size_that_is_not_that_of_the_file_is_refused_before_it_is_read(saved, relist):
    for size in (10**12, 2**63, -1, 10**40):
        relist(saved, "state/0.json", bytes=size)
        with pytest.raises(ArtifactIntegrityError, match=r"state/0.json has \d+ bytes, expected"):
            PipelineModel.load(saved)


def test_a_document_that_is_far_too_large_is_not_read(saved, relist):
    with open(saved / "report.json", "r+b") as file:
        file.truncate(2**33)  # of holes: it takes no room on the disk
    relist(saved, "report.json", bytes=2**33)
    with pytest.raises(ArtifactIntegrityError, match=r"report\.json has 8589934592 bytes, expected 67108864 at most"):
        PipelineModel.load(saved)


@pytest.mark.thorough
def test_a_large_file_of_a_wrong_hash_is_never_in_memory_whole(saved, relist):
    with open(saved / "booster/3.1.ubj", "r+b") as file:
        file.truncate(2**28)
    relist(saved, "booster/3.1.ubj", bytes=2**28)
    script = """
import resource, sys
from penstock import PipelineModel
from penstock.errors import ArtifactIntegrityError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    PipelineModel.load(sys.argv[1])
except ArtifactIntegrityError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    found = subprocess.run([sys.executable, "-c", script, saved], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 2**17  # KiB


def parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


PLAIN = {"store_schema": False, "compression": "none"}


def test_a_table_that_no_model_has_is_refused(saved, replaced, subtests):
    for data, reason in (
        (parquet(pa.table({"value": ["a"], "count": [1]}), **PLAIN), "declares 1 rows, and 3 are listed"),
        (parquet(pa.table({"value": ["a", "b", "c"]}), compression="none"), "carries an Arrow schema"),
        (parquet(pa.table({"value": pa.array([b"0" * 16] * 3, pa.uuid())}), **PLAIN), r"'value' of .* is extension<"),
        (parquet(pa.table({"value": [{"a": 1}] * 3}), **PLAIN), "struct"),
    ):
        refused = pytest.raises(UntrustedArtifactError, match=reason)
        with subtests.test(reason), replaced("state/2.0.parquet", data), refused:
            PipelineModel.load(saved)


@pytest.mark.thorough
def test_a_table_far_larger_than_its_file_is_refused_before_decoding(saved, replaced, relist):
    rows = 20_000_000
    bomb = parquet(pa.table({"value": pa.nulls(rows, pa.int64())}), **PLAIN)
    assert len(bomb) < 100_000
    with replaced("state/2.0.parquet", bomb):
        relist(saved, "state/2.0.parquet", rows=rows)
        with pytest.raises(UntrustedArtifactError, match="declares 160000000 bytes of values"):
            PipelineModel.load(saved)


def test_a_changed_page_of_a_table_is_found_by_its_checksum(saved, replaced):
    data = (saved / "state/2.0.parquet").read_bytes()
    assert data.count("größe".encode()) == 1
    refused = pytest.raises(ArtifactError, match=r"state/2\.0\.parquet cannot be decoded")
    with replaced("state/2.0.parquet", data.replace("größe".encode(), "grösse".encode()[:7])), refused:
        PipelineModel.load(saved)


@pytest.mark.thorough
def test_damage_under_fitting_hashes_never_crashes(saved):
    """Flips in every file, the manifest made to fit; in a process of its own, for a crash would end it."""
    script = """
import collections, hashlib, json, pathlib, random, sys, warnings
import xgboost
from penstock import PipelineModel
from penstock.errors import ArtifactError
from penstock.stages.base import Blob
xgboost.set_config(verbosity=0)
folder, chance, outcomes = pathlib.Path(sys.argv[1]), random.Random(3), collections.Counter()
manifest = json.loads((folder / "_manifest.json").read_text())
matrix = xgboost.DMatrix([[0.5, 1.0], [-0.5, float("nan")]], feature_names=["x", "c"])
for _ in range(120):
    entry = chance.choice(manifest["files"])
    path = folder / entry["path"]
    sound = path.read_bytes()
    data = bytearray(sound)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    sealed = entry | {"sha256": hashlib.sha256(data).hexdigest()}
    files = [sealed if other is entry else other for other in manifest["files"]]
    (folder / "_manifest.json").write_text(json.dumps(manifest | {"files": files}))
    try:
        model = PipelineModel.load(folder)
        for blob in (value for value in model.fitted[3].values() if isinstance(value, Blob)):
            xgboost.Booster({"nthread": 1}, model_file=bytearray(blob.data)).predict(matrix)
        outcomes["loaded"] += 1
    except ArtifactError:
        outcomes["refused"] += 1
    except xgboost.core.XGBoostError:
        outcomes["refused by XGBoost"] += 1
    path.write_bytes(sound)
print(json.dumps(outcomes))
"""
    found = subprocess.run([sys.executable, "-c", script, saved], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-2000:]
    outcomes = json.loads(found.stdout)
    assert sum(outcomes.values()) == 120
    assert outcomes["refused"] > 25
