"""The names and parameters of the real libraries, as `tools/cudf_spec.py` wrote them, and classes held to them."""

import functools
import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

_SPEC = json.loads((Path(__file__).parent / "spec.json").read_text(encoding="utf-8"))
VERSION: str = _SPEC["versions"]["cudf-cu13"]
MEMBERS: Mapping[str, Mapping[str, str | None]] = _SPEC["members"]
"""The parameters of what each module and class has, by its name; None for what is no function."""
_FOREIGN = {"__init_subclass__", "__getattr__"}
"""Special methods by which the stand-in itself works."""


_FREE = ("__len__", "items", "accessors.", "pylibcudf.io.SourceInfo", "ParquetReaderOptions")
"""Parts of the names of calls that touch no column."""
_observers: list[Callable[[str], None]] = []
_thread = threading.local()


@contextmanager
def observing(observer: Callable[[str], None]) -> Iterator[None]:
    """Call `observer` with the full name of each outermost call inside, in any thread."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


@contextmanager
def observed(owner: str, name: str) -> Iterator[None]:
    """Call the observers for an outermost call."""
    inside = getattr(_thread, "inside", False)
    if not inside and not any(part in f"{owner}.{name}" for part in _FREE):
        for observer in _observers:
            observer(f"{owner}.{name}")
        _thread.inside = True
    try:
        yield
    finally:
        _thread.inside = inside


@functools.cache
def signature(owner: str, name: str) -> inspect.Signature | None:
    """Return the parameters of a function or method, without ``self``; None for a property.

    Raises
    ------
    AttributeError
        The real owner has no such name.
    """
    if name not in MEMBERS[owner]:
        raise AttributeError(f"{owner} of RAPIDS {VERSION} has no {name!r}")
    parameters = MEMBERS[owner][name]
    return None if parameters is None else inspect.signature(eval(f"lambda {parameters}: None"))


def bind(owner: str, name: str, arguments: tuple, options: Mapping[str, Any]) -> None:
    """Raise TypeError unless the real function takes a call with these arguments."""
    _bind(owner, name, len(arguments), tuple(options))


@functools.cache
def _bind(owner: str, name: str, count: int, options: tuple[str, ...]) -> None:
    """Bind as many arguments and these options: whether a call is taken is up to nothing else."""
    expected = signature(owner, name)
    if expected is None:
        raise TypeError(f"{owner}.{name} of RAPIDS {VERSION} is no function")
    try:
        expected.bind(*[None] * count, **dict.fromkeys(options))
    except TypeError as error:
        parameters = MEMBERS[owner][name]
        raise TypeError(f"{owner}.{name}({parameters}) of RAPIDS {VERSION}: {error}") from None


def checked(owner: str, name: str, function: Callable[..., Any], skip: int = 0) -> Callable[..., Any]:
    """Return a function that takes what the real one takes.

    Parameters
    ----------
    owner, name : str
        The real function.
    function : callable
        What stands for it. It may have fewer options: what it lacks raises NotImplementedError.
    skip : int
        How many leading arguments are ``self`` or the class.
    """
    bind_to_real = functools.partial(bind, owner, name)
    parameters = inspect.signature(function).parameters
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        bind_to_real(arguments[skip:], options)
        if not takes_all and (unknown := options.keys() - parameters.keys()):
            raise NotImplementedError(f"{owner}.{name} has {sorted(unknown)}, which its stand-in lacks: write it")
        with observed(owner, name):
            return function(*arguments, **options)

    return call


class Checked:
    """A class that has no name that the real class lacks, and whose methods take what those of the real class take."""

    def __init_subclass__(cls, owner: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if owner:
            cls._owner = owner
            for name in implemented(cls):
                setattr(cls, name, _held(owner, name, inspect.getattr_static(cls, name)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        signature(self._owner, name)
        raise NotImplementedError(f"{self._owner} has {name!r}, which its stand-in lacks: write it")


def implemented(cls: type) -> list[str]:
    """Return the public names and special methods that a class and its bases write down; not those that are NumPy's."""
    ours = [each for each in cls.__mro__ if each not in (Checked, object) and not each.__module__.startswith("numpy")]
    return sorted({name for each in ours for name, value in vars(each).items() if _is_public(name, value)})


def _is_public(name: str, value: Any) -> bool:
    return not name.startswith("_") or (name.endswith("__") and callable(value) and name not in _FOREIGN)


def _held(owner: str, name: str, value: Any) -> Any:
    """Return a member of a class as one whose calls are checked; a property has to be one."""
    is_property = signature(owner, name) is None
    if isinstance(value, property) and not is_property:
        raise TypeError(f"{owner}.{name} of RAPIDS {VERSION} is a method")
    if isinstance(value, staticmethod | classmethod):
        return type(value)(checked(owner, name, value.__func__, skip=int(isinstance(value, classmethod))))
    return checked(owner, name, value, skip=1) if isinstance(value, FunctionType) else value
