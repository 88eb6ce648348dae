"""How errors leave a task: as errors of Penstock's own that pickle, whatever was raised.

A panic of Rust is no `Exception`, `sys.exit` in a function of the user's ends the process around it, and a class of
another library may not pickle. A scheduler that is handed one of them hangs, retries, or tells its text alone.
"""

from __future__ import annotations

import functools
import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from penstock.core.errors import DataValueError, ExecutionError, MemoryLimitError, PenstockError
from penstock.core.redaction import presentable
from penstock.frames.overflow import HINT as HINT_BEYOND
from penstock.frames.overflow import overflow
from penstock.io.fragments import Fragment
from penstock.io.memory_errors import HINT, is_out_of_memory, shortage

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

NO_MODULE = (
    "Workers lack that module: import it at the top of the pipeline beside which it lies, send it (--py-files on Spark,"
    " Client.upload_file on Dask), or install it where they run."
)
"""The hint for a module that cannot be imported."""

_LONGEST = 4000
"""Characters of a message. Dask replaces an error of more than 10,000 by one of another class."""


class RemoteTraceback(Exception):
    """The traceback of an error on a worker, as text, shown above the one on the driver."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'

    @classmethod
    def of(cls, error: BaseException | None) -> RemoteTraceback:
        """Return the traceback of an error and of its causes."""
        return cls(presentable("".join(traceback.format_exception(error)), keep="\n"))


def translate_errors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that does the same on a worker, and raises nothing but errors of Penstock's own that pickle.

    Any other names what was raised, and the file of the fragment, piece or file among the arguments; it is a
    MemoryLimitError where memory ran out. KeyboardInterrupt passes: it is not of the work, but of whoever stops it.

    Examples
    --------
    >>> import operator
    >>> translate_errors(operator.truediv)(1, 0)
    Traceback (most recent call last):
    ...
    penstock.errors.ExecutionError: a task raised ZeroDivisionError: division by zero
    """

    @functools.wraps(function, updated=())
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = _with_cause(translated(error, given=args, **place_of(*args)), error)
        raise failure  # here, or what was raised would go with it as its context

    return call


def translated(
    error: BaseException,
    what: str = "a task",
    kind: type[PenstockError] = ExecutionError,
    *,
    given: Sequence[Any] = (),
    **place: Any,
) -> PenstockError:
    """Return an error that pickles and says what `what` raised; one of Penstock's own as it is.

    Where memory ran out, that is what is told, with the size of what the work was given, whatever was made of it since.
    """
    if is_out_of_memory(error) and not isinstance(error, MemoryLimitError):
        return _out_of_memory(error, what, given, place)
    if isinstance(error, PenstockError):
        return portable(error)
    if (beyond := overflow(_text(error))) is not None:
        return DataValueError(_shortened(beyond), hint=HINT_BEYOND, **place)
    return kind(_shortened(f"{what} raised {described(error)}"), hint=hint_for(error), **place)


def _out_of_memory(error: BaseException, what: str, given: Sequence[Any], place: dict[str, Any]) -> MemoryLimitError:
    text = f"{what} raised {described(error)}"
    if isinstance(error, PenstockError):
        text, place = error.message, {**place, **error.place}
    return MemoryLimitError(f"{_shortened(text)}; {shortage(error, *given)}", hint=HINT, **place)


def hint_for(error: BaseException) -> str | None:
    """Return what to do about an error that is not Penstock's own, where that is known: about a module not found."""
    return NO_MODULE if isinstance(error, ModuleNotFoundError) else None


def portable(error: PenstockError) -> PenstockError:
    """Return the error, or where it would not arrive, one of the nearest class of Penstock's in the same words."""
    if pickles(error) and len(_text(error)) <= 2 * _LONGEST:
        return error
    kind: type[PenstockError] = next(
        kind for kind in type(error).__mro__ if kind.__module__ == PenstockError.__module__
    )
    message, hint, place = (vars(error).get(name) for name in ("message", "hint", "place"))
    same = kind(_shortened(str(message or _text(error))), hint=hint, **(place or {}))
    return same if pickles(same) else kind(_shortened(_text(error)))


def place_of(*arguments: Any) -> dict[str, Any]:
    """Return the place of an error, as far as it can be told from what the work was given."""
    for argument in arguments:
        if isinstance(argument, Fragment):
            return {"path": ", ".join(argument.paths[:3]), "partition": argument.index}
        if isinstance(path := getattr(argument, "path", None), str):
            return {"path": path}
    return {}


def pickles(error: BaseException) -> bool:
    """Return whether an error arrives in another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its own __reduce__ and __init__ stumble over
        return False
    return True


def _with_cause(failure: PenstockError, error: BaseException) -> PenstockError:
    """Return the failure with what led to it: as it was raised if that pickles, or else its traceback."""
    cause = _led_to(error) if failure is error else error
    failure.__cause__ = cause if all(map(pickles, _chain(cause))) else RemoteTraceback.of(cause)
    failure.__context__ = None
    return failure


def _chain(error: BaseException | None) -> list[BaseException]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = _led_to(error)
    return chain


def _led_to(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def described(error: BaseException) -> str:
    """Return the class and the text of an error.

    Examples
    --------
    >>> described(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    return f"{type(error).__name__}: {_text(error)}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # its own __str__ fails
        return "(it has no text)"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
