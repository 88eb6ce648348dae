"""Outputs that tests commit alone, each the context of a `JointCommit` of its own, and look at to the byte."""

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from penstock.io import sinks


class _Alone:
    def __enter__(self) -> Self:
        self._joint = sinks.JointCommit(self)
        self._joint.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self._joint.__exit__(*failure)

    def commit(self, *content: Any, **options: Any) -> Any:
        sealed = self.seal(*content, **options)
        self._joint.commit()
        return sealed


class StagedDirectory(_Alone, sinks.StagedDirectory):
    """A directory."""


class StagedFile(_Alone, sinks.StagedFile):
    """A file."""


def write(staged: StagedDirectory, text: str | None = None, name: str = "part-0.csv") -> sinks.FileEntry:
    """Write a file into an output, which says the run unless it is to say something else."""
    path = staged.path / name
    path.parent.mkdir(exist_ok=True)
    with path.open("x") as file:
        file.write(staged.run_id if text is None else text)
    return sinks.file_entry(path, staged.path, rows=1, kind="csv")


def save(target: Path, run_id: str, *, overwrite: bool = True) -> None:
    """Write an output of one file."""
    with StagedDirectory(target, overwrite=overwrite, run_id=run_id) as staged:
        staged.commit([write(staged)])


def verified(directory: Path) -> sinks.Manifest:
    """Return the manifest of an output that holds exactly its files, with the content that it has digests of."""
    manifest = sinks.read_manifest(directory)
    assert manifest is not None
    sinks.verify_files(directory, manifest)
    for entry in manifest.files:
        found = sinks.file_entry(directory / entry.path, directory, entry.rows, kind=entry.kind)
        assert replace(found, run=entry.run) == entry
    return manifest


def snapshot(directory: Path) -> dict[str, bytes]:
    """Return the content of each file below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def no_exchange(*_: object) -> None:
    """Stand for `renameat2` of a file system that cannot exchange two paths."""
    raise OSError(errno.ENOSYS, "no renameat2")
