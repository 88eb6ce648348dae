"""Outputs on disk: staged beside their target, swapped in whole, described and verified by a manifest."""

from penstock.outputs.failpoints import failpoint
from penstock.outputs.files import MANIFEST_NAME, FileEntry, file_entry
from penstock.outputs.joint_commit import JointCommit
from penstock.outputs.manifest import DATASET, MODEL, Manifest, read_manifest
from penstock.outputs.os_errors import error_number, translate_os_error, translating
from penstock.outputs.staged_directory import StagedDirectory
from penstock.outputs.staged_file import StagedFile
from penstock.outputs.staging import new_run_id
from penstock.outputs.strict_json import Json, encode_json, read_json
from penstock.outputs.target import check_apart, resolve
from penstock.outputs.temporary import TemporaryFolder
from penstock.outputs.verify import verify_files

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
    "failpoint",
    "file_entry",
    "new_run_id",
    "read_json",
    "read_manifest",
    "resolve",
    "translate_os_error",
    "translating",
    "verify_files",
]
