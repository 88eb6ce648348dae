"""Code of the user's own by name: a saved model holds the name, and never the code."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

from penstock.core.errors import ConfigError, UnsupportedStepError, did_you_mean

Code = TypeVar("Code", bound=Callable[..., Any])


class Named(Generic[Code]):
    """Functions or classes of one kind, by the names under which they were registered.

    Parameters
    ----------
    what : str
        What they are, for errors: "module", say.
    decorator : str
        The name of the public decorator that registers them.
    """

    def __init__(self, what: str, decorator: str) -> None:
        self._what, self._decorator = what, decorator
        self.known: dict[str, Code] = {}

    def register(self, name: str) -> Callable[[Code], Code]:
        """Return a decorator that registers under `name`; the last one registered counts."""
        if not isinstance(name, str) or not name:
            raise ConfigError(
                f"a {self._what} is registered as {name!r}, expected a name", hint=f'@{self._decorator}("my-own")'
            )

        def keep(code: Code) -> Code:
            self.known[name] = code
            return code

        return keep

    def get(self, name: str) -> Code | None:
        """Return what is registered as `name`, if anything is."""
        return self.known.get(name)

    def check(self, name: Any) -> None:
        """Raise ConfigError for what cannot be the name of one: the function itself, say."""
        if not isinstance(name, str) or not name:
            raise ConfigError(
                f"the {self._what} is given as {name!r:.100}, expected the name that one is registered under",
                hint=f'Put @penstock.{self._decorator}("my-own") before it, and pass "my-own".',
            )

    def lookup(self, name: str, more: Collection[str] = ()) -> Code:
        """Return what is registered as `name`; `more` are names to suggest besides.

        Raises
        ------
        UnsupportedStepError
            Nothing is; nothing is imported by name.
        ConfigError
            It is no name.
        """
        self.check(name)
        if name not in self.known:
            known = sorted({*self.known, *more})
            raise UnsupportedStepError(
                f"{self._what} {name!r} is not registered.{did_you_mean(name, known)}"
                f" Registered are: {', '.join(known) or 'none'}",
                hint=f"Import what registers it first, @penstock.{self._decorator}({name!r}); on a command line, name"
                " the pipeline with --pipeline.",
            )
        return self.known[name]

    def restore(self, name: str, code: Code | None) -> None:
        """Register what came with a stage, unless this process has its own of that name."""
        if code is not None:
            self.known.setdefault(name, code)
