"""The outputs of a run: checked before any work, and put in place together, or not at all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from penstock import artefact
from penstock.cli.etl.catalog import Entry
from penstock.cli.etl.progress import OutputProgress
from penstock.cli.results import DatasetOutput, ModelOutput, PlannedOutput
from penstock.core.errors import ConfigError, class_name, did_you_mean
from penstock.dataset.dataset import Dataset
from penstock.dataset.outputs.destination import Destination
from penstock.dataset.outputs.placement import ADDING
from penstock.dataset.writing import StagedDataset, WriteResult, check_write, commit_together, refuse_inputs, write
from penstock.io.sinks import OutputCommit, OutputDirectory, output_directory
from penstock.io.sinks.staging import RUN_ID
from penstock.pipeline.model import PipelineModel

Output: TypeAlias = Dataset | PipelineModel
Outputs: TypeAlias = Mapping[str, Output | Callable[[], Output]]

_OF_MODELS = ("overwrite",)
_IN_A_LOG = "what the log of the table has"


def staged_run_id(run_id: str) -> str:
    """Return the name of a run as outputs have it: letters, digits, ``_`` and ``-``, at most 64, the same every time.

    Examples
    --------
    >>> staged_run_id("nightly-7"), staged_run_id("manual__2024-01-05T00:00:00+00:00")
    ('nightly-7', 'manual__2024-01-05T00-00-00-00-00-f189a746ddbc2f61')
    """
    if re.fullmatch(RUN_ID, run_id):
        return run_id
    digest = hashlib.sha256(run_id.encode()).hexdigest()[:16]
    return f"{re.sub('[^A-Za-z0-9_-]', '-', run_id)[:47]}-{digest}"


class RunOutputs:
    """The outputs that the catalog of a run has.

    Parameters
    ----------
    job : str
        For messages.
    entries : mapping of str to Entry
    run_id : str
    overwrite : bool
        Whether those may be replaced of which the catalog says nothing.
    """

    def __init__(self, job: str, entries: Mapping[str, Entry], run_id: str, *, overwrite: bool) -> None:
        self._job, self._entries = job, entries
        self._run_id, self._staged_as = run_id, staged_run_id(run_id)
        self._options = {name: _options(entry, overwrite) for name, entry in entries.items()}
        if not entries:
            problem = f"the catalog of {job!r} has no outputs"
            raise ConfigError(problem, hint="Add them below catalog: outputs: in its file, or with --out NAME=PATH.")

    def check(self, *, settle: bool) -> None:
        """Raise what writing would raise at once: an output is there, another run writes to it, it cannot be written.

        Parameters
        ----------
        settle : bool
            Settle what dead runs left, too; nothing on disk is touched without it, and other runs are not seen.
        """
        staged = {name: self._staged_dataset(name) for name, entry in self._entries.items() if not entry.is_table}
        joint = self._joint(staged)
        if settle:
            joint.check()
        else:
            for each in staged.values():
                each.outputs[0].check_target()

    def accept(self, outputs: Mapping[str, Any]) -> Outputs:
        """Return what a module gave.

        Raises
        ------
        ConfigError, SchemaError
            It is not what the catalog has, by name or kind, or does not fit the output that is there.
        """
        for name in outputs:
            if name not in self._entries:
                raise ConfigError(
                    f"run of {self._job!r} returned output {name!r}, which the catalog does not have."
                    f"{did_you_mean(str(name), self._entries)}",
                    hint=f"It has {', '.join(self._entries)}. Add it there, or with --out {name}=PATH.",
                )
        for name, entry in self._entries.items():
            if name not in outputs:
                raise ConfigError(
                    f"{entry.where}: the catalog has output {name!r}, which run of {self._job!r} did not return",
                    hint=f"It returned {', '.join(map(str, outputs)) or 'none'}.",
                )
            if not callable(outputs[name]):
                self._check(name, outputs[name])
        return outputs

    def refuse_inputs(self, datasets: Mapping[str, Dataset], taken: set[str], outputs: Outputs) -> None:
        """Raise ConfigError for an output that would replace what the run reads.

        An input that the module did not take may lie at an output that adds to what is there.
        """
        for name, entry in self._entries.items():
            targets = [entry.path] if entry.is_table else [each.target for each in self._staged_dataset(name).outputs]
            adds = self._options[name].get("mode") in ADDING
            sources = [dataset for each, dataset in datasets.items() if each in taken or not adds]
            value = outputs[name]
            with entry.located():
                for dataset in [*sources, *([value] if isinstance(value, Dataset) else [])]:
                    refuse_inputs(dataset, targets)

    def plan(self, outputs: Outputs) -> dict[str, PlannedOutput]:
        """Return what would be written; nothing is."""
        return {name: self._planned(name, value) for name, value in outputs.items()}

    def write(self, outputs: Outputs, progress: OutputProgress) -> dict[str, DatasetOutput | ModelOutput]:
        """Write all outputs, and put them in place together.

        A table has a log of its own: each is committed to it when the others are ready to be put in place.
        """
        values = {name: self._called(name, value, progress) for name, value in outputs.items()}
        staged = {name: self._staged(name, each) for name, each in values.items() if not self._entries[name].is_table}
        written = {}
        with self._joint(staged) as joint:
            for name, value in sorted(values.items(), key=lambda item: self._entries[item[0]].is_table):
                with progress.of(name), self._entries[name].located():
                    written[name] = self._write(name, value, staged.get(name))
            datasets = {name: each for name, each in staged.items() if isinstance(each, StagedDataset)}
            commit_together(joint, datasets.values())
        return written | {name: self._told(name, each.result()) for name, each in datasets.items()}

    def _write(
        self, name: str, value: Output, staged: StagedDataset | OutputDirectory | None
    ) -> DatasetOutput | ModelOutput:
        if isinstance(value, PipelineModel):
            assert isinstance(staged, OutputDirectory)
            return _saved(value, staged, self._entries[name].path)
        if isinstance(staged, StagedDataset):
            return self._told(name, staged.seal(value))
        return self._told(name, write(value, self._destination(name)))

    def _told(self, name: str, result: WriteResult) -> DatasetOutput:
        return dataset_output(result, self._destination(name))

    def _called(self, name: str, value: Any, progress: OutputProgress) -> Output:
        if not callable(value):
            return value
        with progress.of(name):
            output: Output = value()
        self._check(name, output)
        return output

    def _check(self, name: str, value: Any) -> None:
        if not isinstance(value, Dataset | PipelineModel):
            raise ConfigError(
                f"run of {self._job!r} returned {class_name(value)} as output {name!r},"
                " expected a Dataset, a PipelineModel, or a function without arguments that gives one"
            )
        if isinstance(value, PipelineModel):
            self._check_model(self._entries[name])
            return
        with self._entries[name].located():
            check_write(value, self._destination(name))

    @staticmethod
    def _check_model(entry: Entry) -> None:
        for option in entry.options:
            if option not in _OF_MODELS:
                problem = f"{entry.settings.where(option)}: output {entry.name!r} is a model, which has no {option}"
                raise ConfigError(problem, hint=f"It has path, {', '.join(_OF_MODELS)}.")

    def _staged(self, name: str, value: Output) -> StagedDataset | OutputDirectory:
        if isinstance(value, PipelineModel):
            return output_directory(self._entries[name].path, run_id=self._staged_as, **self._options[name])
        return self._staged_dataset(name)

    def _staged_dataset(self, name: str) -> StagedDataset:
        with self._entries[name].located():
            return StagedDataset(self._destination(name), run_id=self._staged_as)

    def _destination(self, name: str) -> Destination:
        return Destination.of(self._entries[name].path, **{**self._options[name], "run_id": self._run_id})

    def _joint(self, staged: Mapping[str, StagedDataset | OutputDirectory]) -> OutputCommit:
        outputs = (each.outputs if isinstance(each, StagedDataset) else (each,) for each in staged.values())
        return OutputCommit(*(output for each in outputs for output in each))

    def _planned(self, name: str, value: Any) -> PlannedOutput:
        is_dataset, entry = isinstance(value, Dataset), self._entries[name]
        return PlannedOutput(
            path=entry.path,
            kind="dataset" if is_dataset else "model" if isinstance(value, PipelineModel) else "function",
            options=self._options[name],
            replaces=_IN_A_LOG if entry.is_table else self._staged_dataset(name).outputs[0].describe_target(),
            columns={field.name: str(field.type) for field in value.schema} if is_dataset else {},
        )


def _options(entry: Entry, overwrite: bool) -> dict[str, Any]:
    says = any(each in entry.options for each in ("overwrite", "mode"))
    return {**entry.options, **({"overwrite": True} if overwrite and not says else {})}


def dataset_output(result: WriteResult, destination: Destination) -> DatasetOutput:
    """Return what a job tells of rows that it has written."""
    check = None if result.check is None else result.check.to_dict()
    values = vars(result) | {"rows_read": result.read, "format": destination.format.name, "check": check}
    return DatasetOutput(**{each.name: values[each.name] for each in fields(DatasetOutput)})


def _saved(model: PipelineModel, staged: OutputDirectory, path: str) -> ModelOutput:
    manifest = artefact.seal(model, staged)
    rows = 0 if model.report is None else model.report.rows.kept
    return ModelOutput(path=path, digest=model.digest, manifest=manifest, rows=rows, run_id=staged.run_id)
