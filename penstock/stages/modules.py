"""PyTorch modules by name: a model names its architecture, and holds weights; code never comes from a file."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.core.errors import MissingExtraError
from penstock.core.extras import how_to_install
from penstock.stages._named import Named

if TYPE_CHECKING:
    import torch

Factory = Callable[..., "torch.nn.Module"]
Function = TypeVar("Function", bound=Callable[..., Any])

_DRAWING = threading.Lock()
_FACTORIES: Named[Any] = Named("module", "register_module")
_BUILT_IN = {
    "mlp": "penstock.stages.training.torch._modules",
    "resnet18": "penstock.stages.inference._resnet",
    "tabular": "penstock.stages.training.torch._modules",
}
"""The library's own modules and where each is registered; imported, with PyTorch, when one is asked for."""


def register_module(name: str) -> Callable[[Function], Function]:
    """Register what follows, a function or class that makes a `torch.nn.Module`, under a name.

    A model that was trained with the module stores this name and the options given, as JSON values; register it again,
    under the same name, where the model is loaded. Workers are sent the factory with their work.

    Parameters
    ----------
    name : str
        Of your own; the last one registered under a name is used.

    Raises
    ------
    ConfigError
        The name is empty or no string, as where the parentheses were forgotten.

    Examples
    --------
    >>> @register_module("line")
    ... def line(inputs, outputs):
    ...     import torch
    ...     return torch.nn.Linear(inputs, outputs)
    >>> module_factory("line") is line
    True
    """
    return _FACTORIES.register(name)


def module_factory(name: str) -> Factory:
    """Return the factory that is registered as `name`, by the user or by the library itself.

    Raises
    ------
    UnsupportedStepError
        None is; nothing is imported by name.
    MissingExtraError
        It is one of the library's, and PyTorch is not installed.
    """
    if name in _BUILT_IN and _FACTORIES.get(name) is None:
        try:
            importlib.import_module(_BUILT_IN[name])
        except ImportError as error:
            raise MissingExtraError(
                f"module {name!r} needs PyTorch, which cannot be imported: {error}", hint=how_to_install("torch")
            ) from error
    return _FACTORIES.lookup(name, _BUILT_IN)


def make_for_weights(factory: Factory, options: Mapping[str, Any]) -> torch.nn.Module:
    """Return a module whose weights are to come from a file: what its factory draws at random is of no use.

    PyTorch's random numbers, which belong to the user, are left as they were, also where threads make several at once.
    """
    import torch

    with _DRAWING, torch.random.fork_rng([]):
        return factory(**options)


class CarriesModule:
    """A stage with a field `module`, a registered name: the factory goes with it when it is sent to a worker."""

    module: str

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_factory": _FACTORIES.get(self.module)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        factory = state.pop("_factory")
        self.__dict__.update(state)
        _FACTORIES.restore(self.module, factory)
