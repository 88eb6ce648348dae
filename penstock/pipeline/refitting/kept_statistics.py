"""The statistics of a fit, kept with the model: merged with those of other rows they are those of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType

import pyarrow as pa

from penstock.artefact.statistics import canonical_state
from penstock.core.errors import ArtifactError, ConfigError, PenstockError
from penstock.core.sizes import show_bytes
from penstock.pipeline.fusion import StatisticRequest
from penstock.statistics.base import ColumnStatistic, State, Statistic

Key = tuple[int, str]
"""The position of a stage, and the name that it has for a statistic."""


@dataclass(frozen=True)
class KeptState:
    """The state of one statistic of a stage.

    Attributes
    ----------
    statistic : str
        What it is of, in words: class, columns and options. States of equal ones can be merged.
    state : state
        Plain numbers, texts and Arrow tables.
    """

    statistic: str
    state: State = field(repr=False)


KeptStatistics = Mapping[Key, KeptState]


def identity(statistic: Statistic) -> str:
    """Return what tells statistics apart whose states cannot be merged.

    Examples
    --------
    >>> from penstock.statistics import RowCount
    >>> identity(RowCount())
    'RowCount(columns=())'
    """
    return repr(statistic)


def _own_state(statistic: Statistic, state: State) -> State:
    """Return the part of a state that a statistic needs: it may have been gathered together with other columns."""
    if isinstance(statistic, ColumnStatistic):
        return {name: state[name] for name in statistic.columns}
    return state


class StatisticsKeeper:
    """Keeps the statistics of a fit, merged with those that were kept of other rows.

    Parameters
    ----------
    before : mapping of (int, str) to KeptState, optional
        Those of the rows before, which come first.
    """

    def __init__(self, before: KeptStatistics = MappingProxyType({})) -> None:
        self.before = before
        self.kept: dict[Key, KeptState] = {}

    def merged(self, request: StatisticRequest, state: State) -> State:
        """Return the state of the rows before and of these, which is kept from now on.

        Raises
        ------
        ConfigError
            What was kept under this name is of another statistic.
        """
        key, name = (request.stage, request.name), identity(request.statistic)
        whole = canonical_state(_own_state(request.statistic, state))
        if (before := self.before.get(key)) is not None:
            check_same(before.statistic, name, key)
            with _reading(key):
                whole = request.statistic.merge([_own_state(request.statistic, before.state), whole])
        self.kept[key] = KeptState(name, whole)
        return whole


@contextmanager
def _reading(key: Key) -> Iterator[None]:
    """Raise ArtifactError for a state that was kept and is none: hashes say of no file who wrote it."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pa.ArrowException) as error:
        if isinstance(error, PenstockError):
            raise
        raise ArtifactError(
            f"what the model keeps as statistic {key[1]!r} of stage {key[0]} is no state of it: {error}",
            hint="Load the model with expect, the digest that was printed when it was saved; or fit on all rows.",
        ) from error


def notes_of(kept: KeptStatistics) -> list[str]:
    """Return what a fit report says of what is kept: of how many stages it is, and how much memory its tables take."""
    stages = len({stage for stage, _ in kept})
    size = sum(map(_table_bytes, (each.state for each in kept.values())))
    return [f"statistics of {stages} stage(s) are kept, {show_bytes(size)} of tables"] if stages else []


def _table_bytes(state: State) -> int:
    """Return the bytes of the tables in a state."""
    if isinstance(state, pa.Table):
        return int(state.nbytes)
    inner = state.values() if isinstance(state, Mapping) else state if isinstance(state, list | tuple) else ()
    return sum(map(_table_bytes, inner))


def check_same(before: str, now: str, key: Key) -> None:
    """Raise ConfigError where two statistics are not the same, so that their states cannot be merged."""
    if before != now:
        raise ConfigError(
            f"statistic {key[1]!r} of stage {key[0]} was kept as {before:.300}, and is asked for as {now:.300}",
            hint="Fit on all rows: columns, types, parameters or this library have changed.",
        )


def merge_kept(statistics: Mapping[Key, Statistic], kept: Sequence[KeptStatistics]) -> KeptStatistics:
    """Return the statistics of all rows: states are merged one after the other, in the order of `kept`, as refits do.

    Parameters
    ----------
    statistics : mapping of (int, str) to Statistic
        Those that have to be in each of `kept`.

    Raises
    ------
    ConfigError
        One is not there, or is of another statistic.
    """
    merged = {}
    for key, statistic in statistics.items():
        states = [_state_of(each, key, identity(statistic)) for each in kept]
        with _reading(key):
            merged[key] = KeptState(identity(statistic), _merge_in_order(statistic, states))
    return merged


def _merge_in_order(statistic: Statistic, states: list[State]) -> State:
    """Return the state of all rows, to the bit as a chain of refits has it; all at once where that cannot differ."""
    if not any(map(_has_floats, states)):
        return statistic.merge(states)
    return reduce(lambda one, other: statistic.merge([one, other]), states)


def _has_floats(state: State) -> bool:
    """Return whether any number of a state may have been rounded."""
    if isinstance(state, pa.Table):
        return any(not (_is_exact(field.type)) for field in state.schema)
    if isinstance(state, Mapping):
        return any(map(_has_floats, state.values()))
    return isinstance(state, float) or (isinstance(state, list | tuple) and any(map(_has_floats, state)))


def _is_exact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind))


def _state_of(kept: KeptStatistics, key: Key, name: str) -> State:
    if key not in kept:
        raise ConfigError(f"a model keeps no statistic {key[1]!r} of stage {key[0]}", hint="Fit it as the others were.")
    check_same(kept[key].statistic, name, key)
    return kept[key].state
