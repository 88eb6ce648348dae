"""Manifests: what is stored, and what is refused when one is read."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ConfigError, CorruptFileError, OutputError, UntrustedArtifactError
from penstock.io.sinks import DATASET, MANIFEST_NAME, MODEL, FileEntry, Manifest, file_entry, new_run_id, read_manifest

ENTRY: dict[str, Any] = {"path": "part-0.parquet", "bytes": 3, "sha256": "0" * 64, "kind": "parquet", "rows": 2}
DOCUMENT: dict[str, Any] = {
    "format": DATASET,
    "format_version": 1,
    "run_id": "r1",
    "created_utc": "2026-01-02T03:04:05Z",
    "library": "0.1.0",
    "files": [ENTRY],
    "engine": "local",
}


def put(directory: Path, document: object) -> Path:
    (directory / MANIFEST_NAME).write_text(json.dumps(document))
    return directory


def test_document_is_read_field_by_field(tmp_path: Path) -> None:
    assert read_manifest(put(tmp_path, DOCUMENT)) == Manifest(
        format=DATASET,
        run_id="r1",
        created_utc="2026-01-02T03:04:05Z",
        library="0.1.0",
        files=(FileEntry(**ENTRY),),
        metadata={"engine": "local"},
    )


def test_encoded_document_has_the_published_fields_and_rows_are_summed() -> None:
    files = [FileEntry(**ENTRY), FileEntry(path="model.ubj", bytes=9, sha256="1" * 64, kind="xgboost-ubj")]
    manifest = Manifest.create(MODEL, run_id="r1", files=files, metadata={"digest": "d"})
    assert manifest.rows == 2  # of the files that count them
    document = json.loads(manifest.encode())
    created = datetime.fromisoformat(document.pop("created_utc"))
    assert abs(datetime.now(UTC) - created) < timedelta(minutes=1)
    assert document.pop("library")
    assert document == {
        "format": "penstock/model",
        "format_version": 1,
        "run_id": "r1",
        "digest": "d",
        "files": [ENTRY, {"path": "model.ubj", "bytes": 9, "sha256": "1" * 64, "kind": "xgboost-ubj"}],
    }


def test_directory_without_manifest_has_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert [read_manifest(tmp_path / place) for place in ("", "no/such/place", "file")] == [None] * 3


def test_damaged_manifest_is_refused_with_its_path(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for change, message in (
        ({"format": "hudi"}, "format 'hudi'"),
        ({"format_version": 2}, "format version 2"),
        ({"format_version": True}, "'format_version' is bool"),
        ({"run_id": None}, "'run_id' is NoneType"),
        ({"files": {}}, "'files' is dict"),
        ({"files": ["part-0.parquet"]}, "holds str"),
        ({"files": [{**ENTRY, "bytes": "3"}]}, "'bytes' is str"),
        ({"files": [{**ENTRY, "rows": 2.0}]}, "'rows' is float"),
        ({"files": [ENTRY, ENTRY]}, "lists 'part-0.parquet' twice"),
    ):
        with subtests.test(change=change):
            with pytest.raises(CorruptFileError, match=message) as caught:
                read_manifest(put(tmp_path, DOCUMENT | change))
            assert caught.value.path == str(tmp_path / MANIFEST_NAME)


def test_missing_field_is_named(tmp_path: Path) -> None:
    for name in ("format", "format_version", "run_id", "created_utc", "library", "files"):
        with pytest.raises(CorruptFileError, match=f"'{name}' is missing"):
            read_manifest(put(tmp_path, {key: value for key, value in DOCUMENT.items() if key != name}))
    with pytest.raises(CorruptFileError, match="holds list, expected an object"):
        read_manifest(put(tmp_path, [DOCUMENT]))


def test_path_that_leaves_the_directory_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    paths = ("../x", "/etc/passwd", "a/../../x", "a//b", "./a", "", ".", "a\\b", "a\0b", MANIFEST_NAME)
    for path, (format, error) in product(paths, ((DATASET, CorruptFileError), (MODEL, UntrustedArtifactError))):
        with subtests.test(path=path, format=format), pytest.raises(error, match="no path inside the directory"):
            read_manifest(put(tmp_path, DOCUMENT | {"format": format, "files": [{**ENTRY, "path": path}]}))


def test_what_no_reader_would_take_is_not_written() -> None:
    with pytest.raises(ConfigError, match="'files'"):  # metadata cannot hide a field of the manifest
        Manifest.create(DATASET, run_id="r1", files=(), metadata={"files": []})
    with pytest.raises(ConfigError, match=r"'part-0\.parquet' is listed twice"):
        Manifest.create(DATASET, run_id="r1", files=[FileEntry(**ENTRY)] * 2)
    with pytest.raises(ConfigError, match="'penstock/table'"):
        Manifest.create("penstock/table", run_id="r1", files=())


def test_file_entry_describes_the_bytes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "day=1" / "part-0.csv"
    path.parent.mkdir()
    path.write_bytes(b"a,b\n1,2\n")
    expected = {"path": "day=1/part-0.csv", "bytes": 8, "sha256": hashlib.sha256(b"a,b\n1,2\n").hexdigest()}
    assert file_entry(path, tmp_path, 1, kind="csv") == FileEntry(**expected, kind="csv", rows=1)


def test_file_outside_its_root_or_that_is_gone_has_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "part-0.csv"
    with pytest.raises(OutputError, match=r"part-0\.csv: ENOENT"):
        file_entry(path, tmp_path)
    path.write_text("")
    with pytest.raises(ConfigError, match=r"\.\./part-0\.csv"):
        file_entry(path, tmp_path / "out")


def test_run_ids_sort_by_time_and_differ() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert len(set(ids)) == 100
    stamps = [datetime.strptime(text.partition("-")[0], "%Y%m%dT%H%M%S%f") for text in sorted(ids)]
    assert stamps == sorted(stamps)
