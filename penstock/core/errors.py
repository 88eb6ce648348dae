"""Every error Penstock raises, in one tree.

An error names the value, what was expected, where it was found and what to do about it. The place is kept in
attributes as well as in the message, so that a scheduler can act on it, and every error survives pickling: most of
them are raised on a worker and read by a person somewhere else. Its texts (``str``, ``repr``, ``args``, ``message`` and
``hint``) hold no secrets and no control characters, see `penstock.core.redaction`; the attributes of its place are as
given.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any

from penstock.core.redaction import presentable

_PLACES = ("stage", "engine", "run_id", "path", "column", "row", "rows", "partition", "attempt")


class PenstockError(Exception):
    """The root of the tree.

    Parameters
    ----------
    message : str
        What is wrong: the value found and the value expected.
    hint : str, optional
        What the reader can do about it; printed on a line of its own.
    place : str or int, optional
        Where: any of ``stage``, ``engine``, ``run_id``, ``path``, ``column``, ``row``, ``rows``, ``partition`` and
        ``attempt``. Each is an attribute of the error, ``None`` when it was not given.

    Examples
    --------
    >>> error = ConfigError("min_frequency is -1, expected at least 1", hint="Pass 1 to keep all.", stage="index")
    >>> error.stage, error.column
    ('index', None)
    >>> print(error)
    min_frequency is -1, expected at least 1 (stage 'index')
      Hint: Pass 1 to keep all.
    """

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = "penstock.errors"  # where users import it from, and so what a traceback should say

    def __init__(self, message: str, *, hint: str | None = None, **place: Any) -> None:
        unknown = place.keys() - set(_PLACES)
        if unknown:
            raise TypeError(f"{type(self).__name__} takes {', '.join(_PLACES)}, not {', '.join(sorted(unknown))}")
        self.message, self.hint = presentable(message), hint and presentable(hint)
        super().__init__(self.message)
        self.place = {name: value for name, value in place.items() if value is not None}

    def __getattr__(self, name: str) -> Any:
        if name in _PLACES:
            return self.__dict__.get("place", {}).get(name)
        raise AttributeError(name)

    def at(self, **place: Any) -> PenstockError:
        """Return the same error with more of its place filled in; what is already known is kept."""
        kind = type(self)
        error = kind(self.message, hint=self.hint, **{**place, **self.place})
        error.__cause__ = self.__cause__
        return error

    def __str__(self) -> str:
        shown = [f"{name} {value!r}" for name, value in self.place.items() if not self._tells(name, value)]
        text = self.message + (f" ({presentable(', '.join(shown))})" if shown else "")
        return f"{text}\n  Hint: {self.hint}" if self.hint else text

    def _tells(self, name: str, value: Any) -> bool:
        """Return whether the message has this part of the place already; a number in it may be a count of something."""
        countable = not isinstance(value, int) or name in ("rows", "attempt")
        return countable and presentable(str(value)) in self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.hint, self.place)


PenstockError.__module__ = "penstock.errors"


def _rebuild(kind: type[PenstockError], message: str, hint: str | None, place: dict[str, Any]) -> PenstockError:
    return kind(message, hint=hint, **place)


class ConfigError(PenstockError, ValueError):
    """A parameter, option or configuration file is wrong; nothing was read or written.

    Correct it as the hint says; a second run as it is fails again.
    """


class MissingExtraError(ConfigError, ImportError):
    """An optional dependency is not installed; the hint is the command that installs it.

    Install the extra that the hint names.
    """


class InfeasiblePlanError(ConfigError):
    """No machines that there are run a job within its deadline and its budget; the nearest plan is named.

    Allow what that takes, or more or larger machines.
    """


class InsecureClusterError(ConfigError):
    """What Penstock would start, a cluster or ranks, can be reached from other machines without authentication.

    Use TLS or loopback, or allow it (`--allow-insecure`, `allow_insecure=True`) behind a firewall.
    """


class InputError(PenstockError):
    """Something that was to be read is wrong.

    Repair or replace the input that the message names, and run again.
    """


class MissingInputError(InputError, FileNotFoundError):
    """A path or pattern matches nothing.

    Check the path, its pattern and the credentials of the store.
    """

    __str__ = PenstockError.__str__


class CorruptFileError(InputError):
    """A file is empty, cut off, damaged, or not of the format it is read as.

    Have the file written again, or name its format where the suffix misleads.
    """


class IncompleteInputError(InputError):
    """A dataset on disk is not whole: no manifest, files missing, added or changed since they were planned.

    Let the run that writes it finish, restore the files that the message names, or write it again.
    """


class SchemaError(InputError):
    """A column is missing, of the wrong type, or named twice.

    Compare the name with `dataset.schema`; `cast`, `rename` or `select` before the stage.
    """


class SchemaDriftError(SchemaError):
    """Files of one dataset, or the data and a fitted model, do not agree on columns or types.

    Read the files apart and `cast` or `rename` columns of one, or fit again on the new columns.
    """


class EmptyInputError(InputError):
    """A dataset has no rows and the operation needs some.

    Check filters, dates and patterns: they leave nothing.
    """


class BadRowsError(InputError):
    """Rows of a text file cannot be parsed, or break a rule of an ``Expect`` stage.

    Repair the rows, or accept some: `max_bad_records` of readers, `action` of ``Expect``.
    """


class BrokenRulesError(InputError):
    """A dataset breaks rules that it was checked by.

    Repair the rows that the message names, or the rule; `severity="warn"` only reports it.
    """


class DriftError(InputError):
    """Rows are not distributed any more as those that a model was compared with.

    Look at the columns that the message names; fit the model again, or set limits for what it can live with.
    """


class DataValueError(InputError, ValueError):
    """A value makes the operation meaningless: an infinity, a label outside its set, a column of nulls.

    Repair the value, or put an `Imputer`, `Clip` or `filter` before the stage.

    ``predicate`` may hold a Narwhals expression that is true for the bad rows of the frame at hand; whoever has the
    row numbers uses it to add the first file and row to the error. It does not travel with a pickled error.
    """

    def __init__(self, message: str, *, hint: str | None = None, predicate: Any = None, **place: Any) -> None:
        super().__init__(message, hint=hint, **place)
        self.predicate = predicate

    def at(self, **place: Any) -> PenstockError:
        """Return the same error with more of its place filled in, the predicate kept."""
        error = super().at(**place)
        vars(error)["predicate"] = self.predicate
        return error


class ExecutionError(PenstockError):
    """Work failed while it ran.

    Its cause and hint say what failed; such failures may pass, so that a second try is worth it.
    """


class WorkerLostError(ExecutionError):
    """A worker or rank went away and the bounded number of restarts is used up.

    Run again; if workers die again, give them more memory or fewer tasks at a time.
    """


class MemoryLimitError(WorkerLostError, MemoryError):
    """A task ran out of memory, or its worker was ended for taking more than its limit; names both, and the work.

    Give workers more memory, or make fewer tasks run at a time and fragments smaller.
    """


class StageTimeoutError(ExecutionError, TimeoutError):
    """Something did not answer within its time.

    Free workers or slots of the cluster, ask for fewer ranks, or raise the timeout that the hint names.
    """

    __str__ = PenstockError.__str__


class RowCountError(ExecutionError):
    """Rows in are not rows out plus rows quarantined.

    A filter or function of your own keeps other rows each time: make it depend on nothing but the row.
    """


class UserCodeError(ExecutionError):
    """A function given by the user raised; its own error is the cause.

    Read the cause, and correct the function.
    """


class TuningError(ExecutionError):
    """A search has no result: none of its trials came to a metric.

    Look at the failures of its trials, and narrow the space.
    """


class AlarmError(ExecutionError):
    """A run has ended, and its record is an alarm: of severity error, by the alarms that it was checked by.

    Its outputs are in place. Look at what the message names; ``penstock runs show`` says where the time went.
    """


class OutputError(PenstockError):
    """Something that was to be written could not be.

    Check the target's path, rights and space, and run again.
    """


class OutputExistsError(OutputError, FileExistsError):
    """The target exists and overwriting was not asked for.

    Pass `overwrite=True` (`--overwrite`), or write elsewhere.
    """

    __str__ = PenstockError.__str__


class DiskFullError(OutputError):
    """The file system of the target has no room left; what was staged is removed.

    Make room, or write elsewhere, and run again.
    """


class CommitConflictError(OutputError):
    """Another run changed the target while this one was writing.

    Run again: it starts from what the other run wrote.
    """


class ArtifactError(PenstockError):
    """A saved model cannot be used.

    Take another version of the model, or fit it again.
    """


class ArtifactIntegrityError(ArtifactError):
    """A file of a saved model is not the file that was saved.

    Copy the model again from where it was saved, or fit it again.
    """


class ArtifactVersionError(ArtifactError):
    """A saved model was written in a format that this version does not read.

    Load it with the version of Penstock that wrote it, or a newer one, or fit it again.
    """


class UntrustedArtifactError(ArtifactError):
    """A saved model holds something that could run code or leave its directory.

    Fit it again and save it, or, if you know who made it, pass the digest that its `save` printed as `expect`.
    """


class UnsupportedStepError(ArtifactError):
    """A stage is not in the registry, or cannot be stored without storing code.

    Use plain values as parameters; import what registers the function, or pass the stage: `load(..., stages={...})`.
    """


def class_name(value: Any) -> str:
    """Return the class of a value as a user knows it: by its library, and not by the module it is defined in.

    Examples
    --------
    >>> from pathlib import Path
    >>> class_name(Path()), class_name("x")
    ('pathlib.PosixPath', 'str')
    """
    library, name = type(value).__module__.partition(".")[0], type(value).__qualname__
    return name if library == "builtins" else f"{library}.{name}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the nearest of ``known``, or an empty string.

    Examples
    --------
    >>> did_you_mean("lable", ["label", "I1"])
    " Did you mean 'label'?"
    >>> did_you_mean("ouput", ["columns", "output_columns"])
    " Did you mean 'output_columns'?"
    """
    known = list(known)
    lowered = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lowered, n=1)
    if not near and len(name) > 3:  # the beginning of a long one, written wrong
        begun = {candidate[: len(name) + 1]: candidate for candidate in reversed(lowered)}
        near = [begun[each] for each in difflib.get_close_matches(name.lower(), begun, n=1, cutoff=0.8)]
    return f" Did you mean {lowered[near[0]]!r}?" if near else ""


def check_one_of(
    what: str, value: object, choices: Collection[str], *, hint: str | None = None, stage: str | None = None
) -> None:
    """Raise ConfigError, with the nearest of `choices`, unless a value is one of them; `what` says what it is of.

    Examples
    --------
    >>> check_one_of("device", "gpus", ("cpu", "gpu"))
    Traceback (most recent call last):
    penstock.errors.ConfigError: device is 'gpus', expected one of cpu, gpu. Did you mean 'gpu'?
    """
    if value not in choices:
        problem = f"{what} is {value!r}, expected one of {', '.join(choices)}.{did_you_mean(str(value), choices)}"
        raise ConfigError(problem, hint=hint, stage=stage)
