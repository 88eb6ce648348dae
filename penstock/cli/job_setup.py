"""What a job starts from: the pipeline and its parameters, the engine, and the rows, as a request names them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from penstock.cli.inputs import read
from penstock.cli.project import PipelineModule, PipelineSettings, load_pipeline, pipeline_settings
from penstock.cli.requests import DataRequest, JobRequest, PipelineRequest
from penstock.config.settings import Settings, read_yaml
from penstock.core.errors import SchemaDriftError, check_one_of
from penstock.core.locations import local_path, read_location
from penstock.dataset.cast_as_fitted import cast_as_fitted, is_taken
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.settings import EngineSettings, engine_settings
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.stages.evaluation.base import Evaluators


@dataclass(frozen=True)
class JobSetup:
    """The pipeline, its parameters and the engine of a job; nothing is started."""

    module: PipelineModule
    settings: PipelineSettings
    engine: EngineSettings

    @classmethod
    def of(cls, job: PipelineRequest, pipeline: str) -> JobSetup:
        """Return what a request names, from its files and options."""
        return cls.of_module(job, load_pipeline(pipeline, job.pipelines))

    @classmethod
    def of_module(cls, job: PipelineRequest, module: PipelineModule) -> JobSetup:
        """Return the same for a module that is loaded."""
        conf = read_conf(job)
        settings = pipeline_settings(module, conf_folder(job) / "pipelines", conf["pipeline"], job.set)
        return cls(module, settings, settings_of_engine(job, conf["engine"]))

    @property
    def parameters(self) -> BaseModel:
        """The parameters of the module."""
        return self.settings.parameters

    def pipeline(self) -> Pipeline:
        """Return the pipeline, its stages with parameters of their own."""
        return self.settings.build(self.module)

    def evaluators(self) -> Evaluators:
        """Return what measures the pipeline."""
        return self.module.evaluators(self.parameters)

    def labelled(self, job: DataRequest, engine: Engine) -> Dataset:
        """Return the rows to learn from or to evaluate on."""
        return self.prepared(self.read(job, engine))

    def read(self, job: DataRequest, engine: Engine) -> Dataset:
        """Return the rows as they are read."""
        return read_data(job, engine, self.module.schema)

    def prepared(self, source: Dataset) -> Dataset:
        """Return what rows that were read become, to learn from them or to evaluate on them."""
        return self.module.prepared(source, self.parameters, labelled=True)

    def unlabelled(self, job: DataRequest, engine: Engine, model: PipelineModel) -> Dataset:
        """Return the rows to score, which need no label.

        Text is read in the types of the module where it prepares them, as a fit does, else in those of the model.
        """
        prepares = self.module.prepares_scoring
        source = read_data(job, engine, self.module.schema) if prepares else read_unlabelled(job, engine, model)
        return self.module.prepared(source, self.parameters, labelled=False)


def read_conf(job: JobRequest) -> dict[str, Settings]:
    """Return the sections of all configuration files; of two files that set one thing, the later wins."""
    merged = {"engine": Settings(), "pipeline": Settings()}
    for path in job.conf:
        settings = read_yaml(path).only(*merged)
        merged = {name: settings.section(name).over(lower) for name, lower in merged.items()}
    return merged


def settings_of_engine(job: JobRequest, conf: Settings | None = None) -> EngineSettings:
    """Return the engine settings of a request or its files; `conf` has the latter, if they are read."""
    conf = read_conf(job)["engine"] if conf is None else conf
    staged = None if job.staging_dir is None else read_location(job.staging_dir, "staging_dir")
    return engine_settings(job.engine, job.device, conf, conf_folder(job) / "engines", staging_dir=staged)


def read_data(job: DataRequest, engine: Engine, types: Any) -> Dataset:
    """Return the rows that a request names; text files are read in the types that are known."""
    dataset = read(
        engine,
        job.data,
        format=job.format,
        types=types,
        allow_unmanifested=job.allow_unmanifested,
        max_bad_records=job.max_bad_records,
    )
    return dataset if job.state_cache is None else dataset.cache_states(job.state_cache)


def read_unlabelled(job: DataRequest, engine: Engine, model: PipelineModel) -> Dataset:
    """Return the rows to score, text in the types that the model was fitted on.

    A label may be of another type, as a pipeline that prepares rows may have made it of texts.
    """
    labels = set(model.label_columns) - set(model.input_columns)
    dataset = read_data(job, engine, pa.schema([field for field in model.schema if field.name not in labels]))
    found = {field.name: field.type for field in dataset.schema if field.name in labels}
    same = [name for name, dtype in found.items() if is_taken(model.schema.field(name).type, dtype)]
    return cast_as_fitted(dataset, same, model.schema)


@contextmanager
def hinting_at_preparation(job: DataRequest) -> Iterator[None]:
    """Have an error about types name the pipeline, which may prepare the rows that it learns from."""
    try:
        yield
    except SchemaDriftError as error:
        advice = "Where the pipeline prepares rows, have its prepare take *, labelled, and score with --pipeline."
        raise SchemaDriftError(error.message, hint=f"{error.hint or ''} {advice}".strip(), **error.place) from error


def conf_folder(job: JobRequest) -> Path:
    """Return the folder of configuration files, which lies beside that of pipelines."""
    return Path(local_path(job.pipelines, "pipelines")).parent / "conf"


def conf_file(job: JobRequest, named: str | Path, what: str, folder: str) -> Path:
    """Return the path of a YAML file, given as one or by its name in a folder of configuration.

    Raises
    ------
    ConfigError
        There is no such name.
    """
    path, within = Path(local_path(named, what)), conf_folder(job) / folder
    if path.suffix in (".yaml", ".yml"):
        return path
    known = sorted(each.stem for each in within.glob("*.yaml"))
    check_one_of(what, str(named), known, hint=f"Give the path of a YAML file, or write {within / path}.yaml.")
    return within / f"{named}.yaml"


@dataclass
class Clock:
    """Seconds since it was made, and of parts by name."""

    began: float = field(default_factory=time.perf_counter)
    parts: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Time one part."""
        began = time.perf_counter()
        yield
        self.parts[part] = time.perf_counter() - began

    def total(self) -> float:
        """Return the seconds so far."""
        return time.perf_counter() - self.began

    def fields(self, engine: Engine) -> dict[str, Any]:
        """Return what results tell of a job's end: the seconds, and where it ran."""
        return {"seconds": self.total(), "engine": engine.name, "device": str(engine.device)}
