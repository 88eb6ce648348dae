"""Outputs on disk: staged beside their target, swapped in whole, described and verified by a manifest."""

from penstock.io.sinks.files import MANIFEST_NAME, FileEntry, file_entry
from penstock.io.sinks.joint_commit import JointCommit
from penstock.io.sinks.manifest import DATASET, MODEL, Manifest, read_manifest
from penstock.io.sinks.os_errors import error_number, translate_os_error, translating
from penstock.io.sinks.staged_directory import StagedDirectory
from penstock.io.sinks.staged_file import StagedFile
from penstock.io.sinks.staging import new_run_id
from penstock.io.sinks.strict_json import Json, encode_json, read_json
from penstock.io.sinks.target import check_apart, resolve
from penstock.io.sinks.temporary import TemporaryFolder
from penstock.io.sinks.verify import verify_files

__all__ = [
    "DATASET",
    "MANIFEST_NAME",
    "MODEL",
    "FileEntry",
    "JointCommit",
    "Json",
    "Manifest",
    "StagedDirectory",
    "StagedFile",
    "TemporaryFolder",
    "check_apart",
    "encode_json",
    "error_number",
    "file_entry",
    "new_run_id",
    "read_json",
    "read_manifest",
    "resolve",
    "translate_os_error",
    "translating",
    "verify_files",
]
