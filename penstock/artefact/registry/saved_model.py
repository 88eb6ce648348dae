"""A saved model as a registry takes it: its verified files, copied byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.artefact.fetch import read_model
from penstock.artefact.folder import Contents, Located, read_folder
from penstock.artefact.layout import JSON_LIMIT, PIPELINE, REPORT, SCHEMA, kind_of
from penstock.artefact.save import put_content
from penstock.artefact.schema import decode_schema
from penstock.core.errors import ArtifactError
from penstock.io.sinks import MODEL, OutputCommit, new_run_id, output_directory, read_json


@dataclass(frozen=True)
class SavedModel:
    """The verified files of a model, and where they were read.

    Parameters
    ----------
    location : str
    contents : Contents
    """

    location: str
    contents: Contents

    @classmethod
    def read(cls, model: str | Located, options: Mapping[str, Any] | None = None) -> SavedModel:
        """Return the model at a path or a URL; the errors are those of `penstock.artefact.load`."""
        located = Located(model) if isinstance(model, str) else model
        contents = read_model(located.location, lambda folder: read_folder(folder, None, located.recorded), options)
        return cls(located.location, contents)

    @property
    def digest(self) -> str:
        """The digest of what was learned, as its manifest says."""
        stated = self.contents.learned
        if not isinstance(stated, str):
            raise ArtifactError(f"the manifest of {self.location} has no digest", path=self.location)
        return stated

    @property
    def manifest(self) -> str:
        """``sha256:...`` of the manifest of this copy, which ``expect`` takes."""
        return self.contents.digest

    def report(self) -> Mapping[str, Any]:
        """Return what is told of the fit: ``metrics``, ``lineage``, ``versions``, and more."""
        return self._document(REPORT)

    def stages(self) -> Mapping[str, Any]:
        """Return the parameters of all stages, by their place and name."""
        listed = self._document(PIPELINE)["stages"]
        return {f"{place}.{each.get('name') or each['stage']}": each["parameters"] for place, each in enumerate(listed)}

    def columns(self) -> Mapping[str, str]:
        """Return the types of the columns that it was fitted on, by name."""
        schema = decode_schema(self._document(SCHEMA)["columns"], SCHEMA)
        return {each.name: str(each.type) for each in schema}

    def copy(self, target: str, options: Mapping[str, Any] | None = None) -> SavedModel:
        """Write the same model to a place where there is none, whole or not at all, and return it.

        Raises
        ------
        OutputExistsError
            Something is there.
        OutputError
            The file system or the store refused.
        """
        staged = output_directory(target, run_id=new_run_id(), storage_options=options)
        with OutputCommit(staged) as joint:
            entries = [
                put_content(staged.parts, name, content, kind_of(name) or "", self.contents.rows(name))
                for name, content in self.contents.files.items()
            ]
            staged.seal(entries, format=MODEL, metadata=self.contents.manifest.metadata)
            joint.commit()
        return SavedModel.read(target, options)

    def _document(self, name: str) -> Any:
        return read_json(self.contents.files[name], JSON_LIMIT, path=f"{self.location}/{name}", error=ArtifactError)
