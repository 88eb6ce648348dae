"""Fitted estimators as skops files: no code in them, and the same bytes for the same estimator.

skops makes only objects of types that are trusted. It trusts the estimators of scikit-learn; here a few more types are,
that fitted estimators hold and that run no code of the file: those whose arrays are used as indices without being
checked, the nodes of trees, are looked at before they are used.
"""

from __future__ import annotations

import functools
import importlib.metadata
import io
import json
import threading
import warnings
import zipfile
from typing import Any

from penstock.core.errors import ArtifactError, ArtifactVersionError, UnsupportedStepError, UntrustedArtifactError
from penstock.core.extras import importing
from penstock.stages.base import Blob, Fitted

KIND = "skops"
_SCHEMA = "schema.json"
_KERNELS = (
    "CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "PairwiseKernel",
    "Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel",
)  # fmt: skip
TRUSTED = frozenset(
    {
        "functools.partial",  # of functions that are trusted themselves
        "numpy.dtype",
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils.validation.check_array",
        *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS),
    }
)
"""Types that are made from a file besides those that skops trusts: by name, never by what the file says of itself."""

_lock = threading.Lock()


def store(estimator: Any, stage: str | None = None) -> Blob:
    """Return an estimator as a skops file; UnsupportedStepError where it cannot be one without running code."""
    skops = _skops()
    try:
        data = _canonical(skops.dumps(estimator))
    except skops.exceptions.UnsupportedTypeException as error:
        reason = str(error)
    else:
        found = _untrusted(data)
        if not found:
            return Blob(KIND, data)
        reason = f"made of {', '.join(found)}"
    raise UnsupportedStepError(
        f"{' '.join(repr(estimator).split()):.500} cannot be stored without running code: it is {reason}",
        hint="Use no functions or classes of your own, and of scikit-learn's neighbours algorithm='brute'.",
        stage=stage,
    )


def fitted_estimator(fitted: Fitted) -> Any:
    """Return the estimator that a stage learned; one from a file is read once in a process.

    Raises
    ------
    ArtifactVersionError
        It was fitted by another minor version of scikit-learn.
    UntrustedArtifactError
        It is made of types that are not trusted, or its trees lead out of themselves.
    ArtifactError
        skops cannot read it.
    """
    _check_version(fitted["sklearn"])
    with _lock:
        return _load(fitted["estimator"])


@functools.lru_cache(maxsize=8)
def _load(blob: Blob) -> Any:
    from sklearn.exceptions import InconsistentVersionWarning

    from penstock.stages.training.sklearn._trees import check_trees

    skops = _skops()
    found = _untrusted(blob.data)
    if found:
        raise UntrustedArtifactError(
            f"the estimator is made of types that are not trusted: {', '.join(found)}",
            hint="Only what this library saved is loaded; these could run code.",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # of patches; a minor version is refused
            estimator = skops.loads(blob.data, trusted=sorted(TRUSTED))
    except Exception as error:  # whatever the classes that it is made of stumble over
        raise ArtifactError(f"skops cannot read the estimator: {type(error).__name__}: {error}") from error
    check_trees(estimator)
    return estimator


def _skops() -> Any:
    with importing("skops", "sklearn"):
        import skops.io.exceptions
    return skops.io


def _untrusted(data: bytes) -> list[str]:
    try:
        return sorted(set(_skops().get_untrusted_types(data=data)) - TRUSTED)
    except Exception as error:  # whatever a damaged description of objects leads to
        raise ArtifactError(f"skops cannot read the estimator: {type(error).__name__}: {error}") from error


def installed() -> str:
    """Return the version of scikit-learn."""
    return importlib.metadata.version("scikit-learn")


def _check_version(fitted_by: str) -> None:
    """Refuse another minor version: what an estimator keeps, and what it makes of it, is scikit-learn's own affair."""
    if fitted_by.split(".")[:2] != installed().split(".")[:2]:
        minor = ".".join(fitted_by.split(".")[:2])
        raise ArtifactVersionError(
            f"the estimator was fitted by scikit-learn {fitted_by}, and this is {installed()}",
            hint=f"pip install 'scikit-learn=={minor}.*', or fit it again: versions do not promise equal predictions.",
        )


def _canonical(data: bytes) -> bytes:
    """Return a skops file with places in memory, times and random names replaced by numbers in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        numbers: dict[str | int, str | int] = {}
        schema = _renumbered(json.loads(archive.read(_SCHEMA)), numbers, set(archive.namelist()))
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as made:
            for old, new in numbers.items():
                if isinstance(old, str):
                    made.writestr(zipfile.ZipInfo(str(new)), archive.read(old))
            made.writestr(zipfile.ZipInfo(_SCHEMA), json.dumps(schema, separators=(",", ":")))
    return sink.getvalue()


def _renumbered(node: Any, numbers: dict[str | int, str | int], files: set[str]) -> Any:
    if isinstance(node, list):
        return [_renumbered(item, numbers, files) for item in node]
    if not isinstance(node, dict):
        return node
    # Which equal numbers and texts are one object differs from process to process, and means nothing.
    plain = node.get("__loader__") in ("JsonNode", "TypeNode")
    made = {}
    for key, value in node.items():
        if key == "__id__" and isinstance(value, int):
            if not plain:
                made[key] = numbers.setdefault(value, len(numbers))
        elif key == "file" and isinstance(value, str) and value in files:
            made[key] = numbers.setdefault(value, f"{len(numbers)}.{value.rpartition('.')[2]}")
        else:
            made[key] = _renumbered(value, numbers, files)
    return made
