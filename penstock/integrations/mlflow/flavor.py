"""Models of Penstock as MLflow saves, logs and loads them: the directory that `PipelineModel.save` writes."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import yaml
from mlflow import pyfunc
from mlflow.artifacts import download_artifacts
from mlflow.models import Model, ModelSignature
from mlflow.models.model import MLMODEL_FILE_NAME, ModelInfo

from penstock.artefact.registry.saved_model import SavedModel
from penstock.core.errors import ArtifactError, OutputExistsError
from penstock.core.redaction import redact
from penstock.core.several import several
from penstock.engines.local import LocalEngine
from penstock.integrations.mlflow.signature import infer_signature
from penstock.pipeline.model import PipelineModel
from penstock.stages.base import Stage

FLAVOR_NAME = "penstock"
_MODEL = "model"
_REQUIREMENTS = "requirements.txt"
_PYTHON = "python_env.yaml"


def save_model(
    model: PipelineModel | str | Path,
    path: str | Path,
    *,
    signature: ModelSignature | None = None,
    nullable: str | Sequence[str] = (),
    pip_requirements: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    stages: Mapping[str, type[Stage]] | None = None,
    mlflow_model: Model | None = None,
) -> None:
    """Write a model to a local directory in MLflow's format, with the flavours ``penstock`` and ``python_function``.

    Parameters
    ----------
    model : PipelineModel, str or Path
        A model, or where one is saved: that copy, byte for byte, so that its metrics and lineage stay with it.
    path : str or Path
        A directory that is not there, or is empty.
    signature : ModelSignature, optional
        What MLflow checks before ``pyfunc`` predicts; that of `infer_signature` unless given.
    nullable : str or sequence of str, optional
        As of `infer_signature`.
    pip_requirements : sequence of str, optional
        What an environment needs that scores by it; Penstock and the libraries that the fit ran with, each in its
        version, unless given.
    metadata : mapping, optional
        Kept in the file ``MLmodel``.
    stages : mapping of name to Stage, optional
        Stages of your own that a saved model names. ``pyfunc`` does not load such a model: it has no code in it.
    mlflow_model : mlflow.models.Model, optional
        What `log_model` fills.

    Raises
    ------
    OutputExistsError
        Something is at `path`.
    ConfigError
        `nullable` names a column that the model does not read; nothing is written.
    ArtifactError, OutputError
        As reading and saving a model.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, None, 3.0]}))
    >>> model = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x")).fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/scaler")
    ...     load_model(f"{folder}/scaler").digest == model.digest
    True
    """
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise OutputExistsError(f"{folder} is there already", hint="Name a directory that is not.", path=str(folder))
    fitted = model if isinstance(model, PipelineModel) else PipelineModel.load(model, stages=stages)
    signature = infer_signature(fitted, nullable=nullable) if signature is None else signature
    folder.mkdir(parents=True, exist_ok=True)
    saved = _save(model, str(folder / _MODEL))
    versions = saved.report()["versions"]
    given = several(pip_requirements, "pip_requirements", "Sequence[str] | None")
    needed = _requirements(versions) if given is None else given
    (folder / _REQUIREMENTS).write_text("\n".join([*needed, ""]))
    python = {"python": platform.python_version(), "dependencies": [f"-r {_REQUIREMENTS}"]}
    (folder / _PYTHON).write_text(yaml.safe_dump(python))
    description = Model() if mlflow_model is None else mlflow_model
    description.signature = signature
    if metadata is not None:
        description.metadata = dict(metadata)
    pyfunc.add_to_model(description, loader_module=__package__, data=_MODEL, python_env=_PYTHON)
    description.add_flavor(
        FLAVOR_NAME, data=_MODEL, digest=saved.digest, manifest=saved.manifest, penstock_version=versions["penstock"]
    )
    description.save(str(folder / MLMODEL_FILE_NAME))


def log_model(
    model: PipelineModel | str | Path,
    name: str = "model",
    *,
    registered_model_name: str | None = None,
    run_id: str | None = None,
    await_registration_for: int = 60,
    **saving: Any,
) -> ModelInfo:
    """Log a model to a run of MLflow, the active one or a new one, and register it where a name is given.

    Parameters
    ----------
    model : PipelineModel, str or Path
        As of `save_model`.
    name : str
        Of the model in its experiment.
    registered_model_name : str, optional
        The model in MLflow's registry of which it becomes a version.
    run_id : str, optional
        Another run than the active one.
    await_registration_for : int
        Seconds to wait for the version, at most.
    **saving
        Other parameters of `save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is what `load_model` and ``mlflow.pyfunc.load_model`` take.
    """
    import penstock.integrations.mlflow as flavor

    return Model.log(
        artifact_path=None,
        name=name,
        flavor=flavor,
        registered_model_name=registered_model_name,
        run_id=run_id,
        await_registration_for=await_registration_for,
        model=model,
        **saving,
    )


def load_model(
    model_uri: str, *, dst_path: str | None = None, stages: Mapping[str, type[Stage]] | None = None
) -> PipelineModel:
    """Return the model at a URI of MLflow's, as it was fitted.

    Parameters
    ----------
    model_uri : str
        ``models:/clicks@champion``, ``models:/clicks/3``, ``runs:/RUN/model``, or a directory of `save_model`.
    dst_path : str, optional
        A folder that is there, for the files; a temporary one unless given.
    stages : mapping of name to Stage, optional
        Stages of your own that it may name.

    Raises
    ------
    ArtifactError
        It is no model of Penstock's, or not the one that was logged.
    mlflow.exceptions.MlflowException
        There is none, or the server cannot be reached.
    """
    folder = download_artifacts(model_uri, dst_path=dst_path)
    flavors = Model.load(folder).flavors
    if FLAVOR_NAME not in flavors:
        known = ", ".join(flavors) or "none"
        hint = "Load it by the library that logged it, or by mlflow.pyfunc.load_model."
        raise ArtifactError(f"{redact(model_uri)} is no model of Penstock's; its flavours: {known}", hint=hint)
    return PipelineModel.load(os.path.join(folder, _MODEL), expect=flavors[FLAVOR_NAME]["manifest"], stages=stages)


class _PyfuncModel:
    """What ``mlflow.pyfunc`` wraps."""

    def __init__(self, model: PipelineModel) -> None:
        self.model = model
        self._engine = LocalEngine(device="cpu")

    def predict(self, model_input: Any, params: Any = None) -> pd.DataFrame:
        """Return the `output_columns` of a frame's rows, the numbers of `PipelineModel.transform`, with its index.

        Raises
        ------
        PenstockError
            As `PipelineModel.transform`.
        """
        scored = self.model.transform(self._engine.from_arrow(model_input)).select(*self.model.output_columns)
        frame = scored.to_pandas()
        return frame.set_axis(model_input.index) if len(frame) == len(model_input) else frame


def _load_pyfunc(path: str) -> _PyfuncModel:
    """Return the object that MLflow predicts by, of the model that was logged; called by its name."""
    logged = Model.load(str(Path(path).parent)).flavors[FLAVOR_NAME]
    return _PyfuncModel(PipelineModel.load(path, expect=logged["manifest"]))


def _save(model: PipelineModel | str | Path, target: str) -> SavedModel:
    if isinstance(model, PipelineModel):
        model.save(target)
        return SavedModel.read(target)
    return SavedModel.read(str(model)).copy(target)


def _requirements(versions: Mapping[str, str]) -> list[str]:
    """Return the versions that a model was saved with, as pip takes them, and that of MLflow."""
    libraries = {name: version for name, version in versions.items() if name != "python"}
    return [f"{name}=={version}" for name, version in {**libraries, "mlflow": mlflow.__version__}.items()]
