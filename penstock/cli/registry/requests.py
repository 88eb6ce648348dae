"""What jobs of a registry are told."""

import math
from dataclasses import dataclass

from penstock.cli.requests import PipelineRequest, refuse_parameters_of_none
from penstock.core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class PromoteRequest(PipelineRequest):
    """A challenger against the champion, both evaluated on all rows of `data`.

    Parameters
    ----------
    challenger : str
        Directory of the saved model, or a model of a registry.
    champion : str
        The alias to promote to: registry/clicks@champion.
    metric : str
        What they are compared by; whether larger is better is known of it.
    min_gain : float
        By how much the challenger has to be better, at least.
    pipeline : str, optional
        Needed for a challenger that has no evaluators, that has stages of the module's own, or whose rows it prepares.
    run_id : str, optional
        Name of the run, of which a second try promotes nothing twice; a new one unless given.
    expect : str, optional
        The digest that the saved challenger must have: sha256:...

    Raises
    ------
    ConfigError
        The gain is no finite number, or there are parameters of a pipeline, and none is named.

    Examples
    --------
    >>> told = {"data": ["new/*.parquet"], "metric": "areaUnderROC"}
    >>> PromoteRequest(challenger="models/clicks", champion="registry/clicks@champion", **told).min_gain
    0.0
    """

    challenger: str
    champion: str
    metric: str
    min_gain: float = 0.0
    pipeline: str | None = None
    run_id: str | None = None
    expect: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.min_gain):
            raise ConfigError(f"min_gain is {self.min_gain}, expected a finite number, such as 0.001")
        refuse_parameters_of_none(
            self, self.pipeline, "penstock promote CHALLENGER CHAMPION --pipeline PIPELINE --data DATA"
        )


@dataclass(frozen=True, kw_only=True)
class ListModelsRequest:
    """The versions of a registry.

    Parameters
    ----------
    registry : str
        Directory of the registry, or its URL.
    """

    registry: str


@dataclass(frozen=True, kw_only=True)
class ShowModelRequest:
    """What is known of a model.

    Parameters
    ----------
    model : str
        Directory of the saved model, or a model of a registry: registry/clicks@champion.
    """

    model: str


@dataclass(frozen=True, kw_only=True)
class DiffModelsRequest:
    """What two models do not have in common.

    Parameters
    ----------
    one : str
        Directory of a saved model, or a model of a registry.
    other : str
        The other one, likewise.
    """

    one: str
    other: str
