"""The suite: which checks a stage is put through, and which stages there are."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from penstock.core.errors import ConfigError
from penstock.engines.base import Engine
from penstock.frames import Kind
from penstock.stages.base import Stage
from penstock.stages.registry import discover
from penstock.testing.cases import aside, cases_for, encodes
from penstock.testing.checks import frames, hostile, parameters, partitions, plans, refitting, states, training, vectors
from penstock.testing.examples import library_examples
from penstock.testing.oracles import Oracle, check_oracle

Function = Callable[[Stage, Engine], None]


def _all_of(module: ModuleType, *left_out: Function) -> list[Function]:
    """Return the checks of a module in their order, but for some."""
    return [each for name, each in vars(module).items() if name.startswith("check_") and each not in left_out]


_UNFITTED = (*_all_of(parameters), plans.check_explaining_reads_nothing)
_IN_PROCESS = (
    *_all_of(frames, frames.check_lazy_frames),
    *_all_of(states, states.check_scores_elsewhere),
    *_all_of(refitting),
    plans.check_scans_are_as_planned,
    plans.check_only_needed_columns_are_read,
    hostile.check_nan_is_missing,
)
_ON_ENGINES: tuple[Function, ...] = (hostile.check_ordinary_works, hostile.check_no_rows, states.check_scores_elsewhere)
_OF_CASES = (hostile.check_survives, partitions.check_engines_agree, partitions.check_any_partitioning)
_OF_INFINITY = ("infinite", "infinite_later")
_TELLING = (
    "check_engines_agree[ordinary]",
    "check_engines_agree[offset]",
    "check_any_partitioning[ordinary]",
    "check_infinity_is_found[infinite_later]",
)
"""What says something of an engine: that it gives what this process gives, also where rounding could move it, however
rows are cut, and that it tells where on a worker an error was. The rest is then up to the stage."""

_COLUMNS_BY_TYPE = {
    "any": ("n1", "s1"),
    "numeric": ("n1", "n2"),
    "string": ("s1", "s2"),
    "binary": ("image",),
    "list": ("words", "v_indices"),
    "string list": ("words",),
    "categorical": ("s1", "n1", "b"),
}
"""Columns of `penstock.testing.tables` that suit what a stage accepts."""


@dataclass(frozen=True)
class Check:
    """One thing that must hold of a stage; call it with an engine.

    Attributes
    ----------
    stage : Stage
    name : str
        That of the function, with the case it looks at.
    function : callable
        Raises AssertionError, which says what was found and what was expected.
    scheduled : bool
        It says something of the engine. Any other should say the same on each, and one run, in this process, is enough.
    fitted : bool
        It fits the stage. Any other looks at no data: it takes next to no time, and all of a class go into one test.
    case : str, optional
        The name of the case that it looks at, if it is one of several; see `penstock.testing.cases`.
    """

    stage: Stage
    name: str
    function: Function = dataclasses.field(repr=False)
    scheduled: bool
    fitted: bool = True
    case: str | None = None

    def __call__(self, engine: Engine) -> None:
        """Run the check."""
        self.function(self.stage, engine)

    def __str__(self) -> str:
        return f"{shorthand(self.stage)}-{self.name}"


def checks_for(stage: Stage, oracle: Oracle | None = None, *, device: Kind = "cpu") -> list[Check]:
    """Return the checks that suit a stage: its tags, whether it reads a label, and the columns that it reads decide.

    A stage whose tags leave out the device of the engines is not fitted there: it is asked what needs no data.

    Parameters
    ----------
    stage : Stage
        One that works on columns of `penstock.testing.tables`.
    oracle : callable, optional
        What should come of it, see `penstock.testing.oracles`; every case is then held against it too.
    device : {"cpu", "gpu"}
        Where the engines of the checks have their partitions.

    Raises
    ------
    ConfigError, SchemaError
        The stage cannot be bound to the columns of the tables.

    Examples
    --------
    >>> import penstock as ps
    >>> from penstock.stages import Log1p
    >>> engine = ps.LocalEngine(device="cpu")
    >>> for check in checks_for(Log1p("n1")):
    ...     check(engine)
    """
    checks = [Check(stage, function.__name__, function, scheduled=False, fitted=False) for function in _UNFITTED]
    if device not in stage.tags.devices:
        return checks
    lazy = (frames.check_lazy_frames,) if stage.tags.lazy else ()
    of_vectors = (vectors.check_vectors_are_their_elements,) if stage.tags.vectors else ()
    in_process = (*_IN_PROCESS, *lazy, *of_vectors, *_of_aside(stage))
    checks += [Check(stage, function.__name__, function, scheduled=False) for function in in_process]
    checks += [Check(stage, function.__name__, function, scheduled=True) for function in _ON_ENGINES]
    return checks + _of_cases(stage, oracle)


def _of_aside(stage: Stage) -> Iterator[Function]:
    """Yield what is asked of a stage that reads columns at fit alone."""
    if encodes(stage) and not stage.tags.tells_labels:
        yield training.check_training_rows_do_not_tell_their_label
    if aside(stage):
        yield training.check_predicts_without_label
        if not stage.tags.skips_nulls:
            yield training.check_missing_label_is_refused


def _of_cases(stage: Stage, oracle: Oracle | None) -> list[Check]:
    checks = []
    for name in (case.name for case in cases_for(stage)):
        functions: list[Callable[..., None]] = [
            *_OF_CASES,
            *([hostile.check_infinity_is_found] if name in _OF_INFINITY else []),
        ]
        if oracle is not None and name != "no_rows":
            functions.append(functools.partial(check_oracle, oracle=oracle))
        checks += [_of_case(stage, function, name) for function in functions]
    return checks


def _of_case(stage: Stage, function: Callable[..., None], name: str) -> Check:
    named = function.func if isinstance(function, functools.partial) else function
    title = f"{named.__name__}[{name}]"
    return Check(stage, title, functools.partial(function, name=name), title in _TELLING, case=name)


def shorthand(stage: Stage) -> str:
    """Return a text that tells the examples of a stage apart: what differs from the default.

    Examples
    --------
    >>> from penstock.stages import Clip
    >>> shorthand(Clip("n1", lower=0))
    "Clip(columns=('n1',), lower=0)"
    """
    fields = dataclasses.fields(stage)  # type: ignore[arg-type]
    given = {field.name: getattr(stage, field.name) for field in fields if getattr(stage, field.name) != field.default}
    return f"{stage.title}({', '.join(f'{name}={value!r}' for name, value in given.items() if value != {})})"


def discover_examples() -> tuple[Stage, ...]:
    """Return the examples of every stage of the library: none is listed anywhere, so none can be forgotten.

    Raises
    ------
    ConfigError
        A stage has no example that can be made.
    """
    return tuple(example for kind in discover().values() for example in examples_of(kind))


def examples_of(kind: type[Stage]) -> tuple[Stage, ...]:
    """Return the examples of one class of stages: those of its classmethod `examples`, or one made with columns alone.

    Raises
    ------
    ConfigError
        It has none, or they cannot be made.

    Examples
    --------
    >>> from penstock.stages import Log1p
    >>> examples_of(Log1p)
    (Log1p(columns=('n1', 'n2'), output_columns=None),)
    """
    hint = "Give the class a classmethod examples() that returns instances over the columns of penstock.testing.tables."
    try:
        found = kind.examples() if hasattr(kind, "examples") else library_examples(kind) or (_made_by_tags(kind),)
    except Exception as error:
        raise ConfigError(f"the examples of {kind.__name__} cannot be made: {error}", hint=hint) from error
    if not found:
        raise ConfigError(f"{kind.__name__} has no examples", hint=hint)
    return tuple(found)


def _made_by_tags(kind: type[Stage]) -> Stage:
    """Return a stage with the columns that suit its tags, and no other parameter."""
    return kind(_COLUMNS_BY_TYPE[kind.tags.accepts])  # type: ignore[call-arg]
