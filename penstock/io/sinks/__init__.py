"""Outputs on disk and in stores: staged, put in place whole, described and verified by a manifest."""

from penstock.io.sinks.files import MANIFEST_NAME, FileEntry, file_entry
from penstock.io.sinks.joint_commit import JointCommit
from penstock.io.sinks.manifest import DATASET, MODEL, Manifest, read_manifest, verify_files
from penstock.io.sinks.os_errors import error_number, translate_os_error, translating
from penstock.io.sinks.outputs import (
    OutputCommit,
    OutputDirectory,
    OutputFile,
    output_directory,
    output_file,
    write_file,
)
from penstock.io.sinks.staged_directory import StagedDirectory
from penstock.io.sinks.staged_file import StagedFile
from penstock.io.sinks.staging import new_run_id
from penstock.io.sinks.strict_json import Json, encode_json, read_json
from penstock.io.sinks.target import check_apart, locate
from penstock.io.sinks.temporary import TemporaryFolder

__all__ = [
    "DATASET",
    "MANIFEST_NAME",
    "MODEL",
    "FileEntry",
    "JointCommit",
    "Json",
    "Manifest",
    "OutputCommit",
    "OutputDirectory",
    "OutputFile",
    "StagedDirectory",
    "StagedFile",
    "TemporaryFolder",
    "check_apart",
    "encode_json",
    "error_number",
    "file_entry",
    "locate",
    "new_run_id",
    "output_directory",
    "output_file",
    "read_json",
    "read_manifest",
    "translate_os_error",
    "translating",
    "verify_files",
    "write_file",
]
