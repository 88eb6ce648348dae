"""Outputs that tests commit alone, each the context of a `JointCommit` of its own, and look at to the byte."""

from __future__ import annotations

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


def verify_content(directory: Path, manifest: sinks.Manifest) -> None:
    """Fail unless a directory holds exactly the files of a manifest, with the content that it has digests of."""
    sinks.verify_files(directory, manifest)
    for entry in manifest.files:
        found = sinks.file_entry(directory / entry.path, directory, entry.rows, kind=entry.kind)
        assert replace(found, run=entry.run) == entry
