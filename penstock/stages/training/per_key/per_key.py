"""A model of its own for each key: each store, each machine, each customer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self, cast

import narwhals as nw
import pyarrow as pa

from penstock.core.checks import exact_keys
from penstock.core.errors import ArtifactVersionError, ConfigError, DataValueError, SchemaError
from penstock.core.selectors import Columns, resolve
from penstock.spmd import Rank
from penstock.stages.base import Fitted, RowFunction, Stage, Tags, normalise_columns, with_fields, wrong_type
from penstock.stages.capabilities import (
    ColumnChooser,
    DatasetStage,
    HasCoefficients,
    SchemaLearner,
    TrainingTransformer,
)
from penstock.stages.classes import classes_of
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing._groups import is_key
from penstock.stages.registry import lookup
from penstock.stages.shapes import Fields, Integer, ListOf, Shape, TableOf, Text, like
from penstock.stages.step import StageStep, capability
from penstock.stages.stored_values import jsonable
from penstock.stages.target import Target
from penstock.stages.trainer import Trainer, as_trainer
from penstock.stages.training.per_key import _key_states as states
from penstock.stages.training.per_key._key_training import KeyTraining
from penstock.stages.vectors import over
from penstock.statistics.base import Statistic
from penstock.statistics.grouped.by_key import ByKey, KeyResults

_BY_KEY, _ALL = "by key", "all rows: "


@dataclass(frozen=True)
class PerKey(Trainer):
    """Fits a copy of a stage to the rows of each key, and transforms a row by that of its key.

    What a stage learns from statistics it learns of all keys in one scan, which other stages share: one pass for
    thousands of models. The cross products of `LinearRegression` and `PCA` are computed for all keys at once. A trainer
    of rows is trained key by key after the scan. To scale numbers by group, `GroupScaler` is faster.

    Parameters
    ----------
    stage : Stage
        What is fitted for each key. Its columns, selected or named, are among those that are no key. It keeps all rows,
        and does not give the rows that it learns from other values than later ones, as `TargetEncoder` does.
    by : str, sequence of str, or Selector
        The key: columns of strings, integers or booleans, of several each combination. Values are matched by their
        text, see :class:`StringIndexer`. At most 100,000 keys.
    handle_invalid : {"skip", "keep"}, default="skip"
        What becomes of a row whose key has no model, as it was unseen at fit, or skipped, or is null: null in all
        outputs, or with ``keep`` what a model of all rows makes of it, those with a null key included.
    errors : {"raise", "skip"}, default="raise"
        What becomes of a key whose rows the stage refuses to learn from, as where they are of one class: an error that
        names the key, or no model, of which the fit report tells.

    Raises
    ------
    ConfigError
        A parameter is wrong; the stage is none that can be fitted for each key, or learns nothing.
    SchemaError
        At fit, before reading: a column is missing or of another type; the stage names a key.
    DataValueError
        At fit: what the stage raises, with the key; no key has a model; there are too many keys; the models of two keys
        have learned different classes, or make columns of different types. At scoring: what the stage raises.

    Notes
    -----
    Each model is that of a fit on the rows of its key alone, but for rounding. As any statistic, it is the same on
    every engine and in any fragments, and ``model.refit`` learns on from new rows, of new keys too. Statistics other
    than cross products take for each key of a fragment what they take for a small fragment, some milliseconds; so does
    any stage but `LinearRegression` when it transforms.

    To train on rows, every rank reads those of all ranks, and keeps and trains the keys that are its own, one after the
    other, each on one thread unless it has very many rows. So the rows, in the columns that are read, fit into the
    memory of all ranks together, and models do not depend on the number of ranks. The rows of every key have to be of
    the same classes, so that scores mean the same.

    A row with a null key has no model, and is learned from by that of ``keep`` alone; the fit report tells how many
    there were. Learned are ``keys`` (a table), ``models`` (what the stage has learned of each, in their order),
    ``skipped`` (``keys``, a table, and ``reasons``), ``null_rows``, and with ``keep`` also ``all``. A model that is
    saved holds the stage by its name and parameters, so that one of your own is passed to ``load(..., stages=)``.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"store": ["a", "b", "a", "b"], "x": [1.0, 1.0, 2.0, 2.0], "y": [10.0, 5.0, 20.0, 4.0]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.PerKey(st.LinearRegression("y"), by="store")).fit(data)
    >>> [round(row["prediction"], 6) for row in model.predict([{"store": "a", "x": 3.0}, {"store": "b", "x": 3.0}])]
    [30.0, 3.0]
    >>> model.coefficients().select(["store", "feature", "value"]).slice(0, 2).to_pylist()[0]["store"]
    'a'
    >>> model.predict({"store": "z", "x": 3.0})
    {'prediction': None}
    """

    stage: Stage
    _: KW_ONLY
    by: Columns
    handle_invalid: str = field(default="skip", metadata=one_of("skip", "keep"))
    errors: str = field(default="raise", metadata=one_of("raise", "skip"))

    tags: ClassVar[Tags] = Tags()

    def __post_init__(self) -> None:
        if isinstance(self.stage, Mapping):
            object.__setattr__(self, "stage", from_stored(self.stage))
        check_wrappable(self.stage, "PerKey")
        object.__setattr__(self, "tags", self._tags())
        super().__post_init__()
        normalise_columns(self, "by")

    def _tags(self) -> Tags:
        """Return those of the stage; each model is trained on one rank, but for that of all rows."""
        inner, together = self.stage.tags, self.handle_invalid == "keep"
        return dataclasses.replace(
            inner,
            accepts="any",
            vectors=False,
            lazy=False,
            single_rank=inner.single_rank and together,
            opens_ports=inner.opens_ports and together,
            skips_nulls=inner.skips_nulls or self.errors == "skip",
            tells_labels=inner.tells_labels or "a key is told of with all its rows, as a trainer tells of all",
        )

    @property
    def title(self) -> str:
        return f"PerKey of {self.stage.title}"

    @property
    def target(self) -> Target:
        return self.stage.target if isinstance(self.stage, Trainer) else super().target

    @property
    def watches_validation(self) -> bool:
        return isinstance(self.stage, Trainer) and self.stage.watches_validation

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key; the stage is bound."""
        return self.by  # type: ignore[return-value]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON values; those of the stage with its name and version."""
        others = {name: getattr(self, name) for name in ("by", "handle_invalid", "errors")}
        return {
            "stage": to_stored(self.stage),
            **{name: jsonable(self.title, name, each) for name, each in others.items()},
        }

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the key, and bind the stage to the columns beside it."""
        by = resolve(self.by, schema, self.title)
        for name in by:
            if not is_key(schema.field(name).type):
                expected = "strings, integers or booleans for a key"
                raise wrong_type(self.title, name, schema.field(name).type, expected)
        rest = _without(schema, by)
        stage = self._bound_stage(rest, by)
        if not over.statistics(stage, rest) and as_trainer(stage, rest) is None:
            hint = "Put it into the pipeline by itself: it does the same to the rows of every key."
            raise ConfigError(f"{self.title} has nothing to learn for each key", hint=hint, stage=self.title)
        return dataclasses.replace(self, stage=stage, by=by)

    def _bound_stage(self, rest: pa.Schema, by: Sequence[str]) -> Stage:
        hint = f"Name other columns in {self.stage.title}, or another key."
        try:
            stage = self.stage.bind(rest)
        except SchemaError as error:
            if error.column not in by:
                raise
            problem = f"{self.title} goes by {error.column!r}, which cannot be a column of the stage too"
            raise SchemaError(problem, hint=hint, column=error.column, stage=self.title) from error
        if made := set(by) & set(stage.outputs()):
            raise ConfigError(f"{self.title} makes {min(made)!r}, and goes by it", hint=hint, stage=self.title)
        return stage

    def inputs(self) -> tuple[str, ...]:
        return (*self.keys, *self.stage.inputs())

    def training_columns(self) -> tuple[str, ...]:
        """Return the columns that are read at fit, if it is trained on rows."""
        return tuple(dict.fromkeys((*self.keys, *cast(Trainer, self.stage).training_columns())))

    def outputs(self) -> tuple[str, ...]:
        return self.stage.outputs()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return self._with_made(schema, over.output_schema(self.stage, _without(schema, self.keys)))

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        """Return the schema with what the models make.

        Raises
        ------
        DataValueError
            Two of them have learned different classes, or make columns of different types.
        """
        learner, rest = capability(self.stage, SchemaLearner), _without(schema, self.keys)
        if learner is None:
            return self.output_schema(schema)
        hint = "Leave out the keys that have other classes, or make two stages of it."
        _check_classes(_models(fitted), hint)
        first, *others = [self._with_made(schema, learner.learned_schema(rest, each)) for each in _models(fitted)]
        if other := next((each for each in others if each != first), None):
            name = next(name for name in self.outputs() if other.field(name) != first.field(name))
            kinds = f"{first.field(name).type} and {other.field(name).type}"
            raise DataValueError(f"models of two keys make {name!r} of {kinds}", hint=hint, column=name)
        return first

    def _with_made(self, schema: pa.Schema, made: pa.Schema) -> pa.Schema:
        return with_fields(schema, {name: made.field(name).type for name in self.outputs()})

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the statistics of the stage for each key, and with ``keep`` of all rows."""
        asked = over.statistics(self.stage, _without(schema, self.keys))
        whole = {f"{_ALL}{name}": each for name, each in asked.items()} if self.handle_invalid == "keep" else {}
        return {_BY_KEY: ByKey.of(self.keys, asked), **whole}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        found: KeyResults = results[_BY_KEY]
        outcomes = [self._outcome(each) for each in found.results]
        learned = {**self._learned(found.keys, outcomes), "null_rows": found.nulls}
        if self.handle_invalid == "skip":
            return learned
        whole = {name.removeprefix(_ALL): each for name, each in results.items() if name.startswith(_ALL)}
        return {**learned, "all": over.finish(self.stage, whole)}

    def _outcome(self, found: Mapping[str, Any] | DataValueError) -> states.Outcome:
        if isinstance(found, DataValueError):
            return found
        try:
            return over.finish(self.stage, found)
        except DataValueError as error:
            return error

    def _learned(self, keys: pa.Table, outcomes: Sequence[states.Outcome]) -> dict[str, Any]:
        if not outcomes:
            problem = f"{' and '.join(map(repr, self.keys))} has no value, so that there is no key to learn a model for"
            raise DataValueError(problem, hint="Fill the nulls, or take another key.", column=self.keys[0])
        refused = [each for each in outcomes if isinstance(each, DataValueError)]
        if refused and (self.errors == "raise" or len(refused) == len(outcomes)):
            raise states.first_error(keys, outcomes)
        return states.learned_of(keys, outcomes)

    def wrapped(self, fitted: Fitted) -> tuple[Stage, Fitted]:
        """Return the stage, and what it has learned of the first key."""
        return self.stage, fitted["models"][0]

    def trains(self, schema: pa.Schema) -> bool:
        return as_trainer(self.stage, _without(schema, self.keys)) is not None

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        outcomes = KeyTraining(cast(Trainer, self.stage), learned["keys"], learned["models"]).run(rank)
        trained = {**learned, **states.joined(learned["skipped"], self._learned(learned["keys"], outcomes))}
        if "all" in learned:
            trained["all"] = over.train(cast(Trainer, self.stage), rank, learned["all"])
        return trained

    def kept(self, fitted: Fitted) -> Fitted:
        """Return what a model keeps of each key, and of all rows."""
        pruned = [StageStep(self.stage, each, 0).pruned_state for each in _models(fitted)]
        whole = {"all": pruned.pop()} if "all" in fitted else {}
        return {**fitted, "models": pruned, **whole}

    def notes(self, fitted: Fitted) -> list[str]:
        """Tell how many keys have a model, which have none, what rows have no key, and what the stage notes."""
        return states.notes_of(self.stage, fitted)

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        kinds = {name: like(schema.field(name).type) for name in self.keys}
        model = states.StateOf(self.stage, _without(schema, self.keys))
        shapes = {
            "keys": TableOf(kinds, least=1, unique=self.keys),
            "models": ListOf(model, len(fitted["keys"])),
            "skipped": Fields({"keys": TableOf(kinds), "reasons": ListOf(Text())}),
            "null_rows": Integer(),
        }
        return Fields({**shapes, "all": model} if self.handle_invalid == "keep" else shapes)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Transform each row by the model of its key.

        Raises
        ------
        DataValueError
            What the stage raises.
        """
        return states.KeyModels(self.stage, fitted["keys"], _models(fitted)).transform(frame)

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        return states.KeyModels(self.stage, fitted["keys"], _models(fitted)).row_function(_without(schema, self.keys))

    def coefficients(self, fitted: Fitted) -> pa.Table:
        """Return the coefficients of every key, each row after the columns of its key.

        Raises
        ------
        ConfigError
            The stage has none.
        """
        linear = capability(self.stage, HasCoefficients)
        if linear is None:
            raise ConfigError(f"{self.title} has no coefficients, as the stage has none", stage=self.title)
        tables = [
            cast(HasCoefficients, inner).coefficients(state)
            for inner, state in (over.over_elements(self.stage, each) for each in fitted["models"])
        ]
        place = [place for place, table in enumerate(tables) for _ in range(table.num_rows)]
        whole = pa.concat_tables(tables)
        return pa.table([*fitted["keys"].take(place).columns, *whole.columns], [*self.keys, *whole.column_names])


def _models(fitted: Fitted) -> list[Fitted]:
    """Return the models of the keys, and at the end that of all rows, if there is one."""
    return [*fitted["models"], *([fitted["all"]] if "all" in fitted else [])]


def _check_classes(models: Sequence[Fitted], hint: str) -> None:
    """Raise DataValueError for models of different classes: in one column their scores would not mean the same."""
    known = list(dict.fromkeys(map(classes_of, models)))
    if len(known) > 1:
        first, other = (", ".join(map(repr, (classes or ())[:10])) for classes in known[:2])
        problem = f"models of two keys have learned different classes: {first}, and {other}"
        raise DataValueError(problem, hint=hint)


def _without(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([each for each in schema if each.name not in names])


_REFUSED: Mapping[Callable[..., Any], str] = {
    ColumnChooser: "leaves out other columns for each key",
    DatasetStage: "is computed by an engine for all rows together",
    TrainingTransformer: "gives the rows that it learns from other values than later ones",
}


def to_stored(stage: Stage) -> dict[str, Any]:
    """Return the name, version and parameters of a stage as JSON values.

    Examples
    --------
    >>> from penstock.stages import Log1p
    >>> to_stored(Log1p("x"))
    {'stage': 'Log1p', 'version': 1, 'parameters': {'columns': ['x'], 'output_columns': None}}
    >>> from_stored(to_stored(Log1p("x")))
    Log1p(columns=('x',), output_columns=None)
    """
    return {"stage": type(stage).__name__, "version": stage.version, "parameters": stage.parameters()}


def from_stored(document: Mapping[str, Any]) -> Stage:
    """Return the stage of the library that `to_stored` told of.

    Raises
    ------
    UnsupportedStepError
        There is none of that name; nothing is imported.
    ArtifactVersionError
        It is of another version.
    """
    exact_keys(document, {"stage", "version", "parameters"}, "the stage of a PerKey")
    kind = lookup(document["stage"], {})
    if document["version"] != kind.version:
        raise ArtifactVersionError(
            f"stage {kind.__name__} was saved in version {document['version']}, and this library has version"
            f" {kind.version}",
            hint="Read it with the version of the library that wrote it.",
            stage=kind.__name__,
        )
    return kind.from_parameters(document["parameters"])


def check_wrappable(stage: Any, owner: str) -> None:
    """Raise ConfigError for what is no stage, or one of which there cannot be a model for each key."""
    if not isinstance(stage, Stage):
        hint = 'Pass a stage: PerKey(LinearRegression("sales"), by="store").'
        raise ConfigError(f"{owner} is given {stage!r:.100}, expected a stage", hint=hint, stage=owner)
    reasons = [reason for kind, reason in _REFUSED.items() if capability(stage, kind) is not None]
    reasons += ["leaves out rows"] * (not stage.tags.keeps_rows)
    reasons += ["goes by the numbers of rows"] * stage.tags.numbers_rows
    if reasons:
        hint = "Put it before or after the stage that has a model for each key."
        raise ConfigError(f"{owner} takes no {stage.title}, which {reasons[0]}", hint=hint, stage=owner)
