"""A stage that learns from features and a target: from statistics, and from rows where these are not enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.names import expand
from penstock.core.schemas import require
from penstock.core.selectors import Columns, numeric, resolve
from penstock.stages.base import Fitted, Stage, check_types, normalise_columns, with_fields
from penstock.stages.features import Features, refuse_vectors
from penstock.stages.target import Target
from penstock.statistics.rules import Rule

if TYPE_CHECKING:
    from penstock.spmd import Rank


class Trainer(Stage):
    """A stage that learns from columns; where statistics are not enough, by iterating over rows.

    Subclasses are dataclasses with the fields `features` (None for every numeric column without another role),
    `weight`, and for what is supervised `label`, and say what they learn by `target`. With a `train` of its own, a
    trainer is trained: the same body runs on every rank at the same time.
    """

    features: Columns | None
    weight: str | None

    roles: ClassVar[tuple[str, ...]] = ("label", "weight")
    """Fields that name columns which are no features."""
    takes_vectors: ClassVar[bool] = False
    """Whether the two columns of a sparse vector may be among the features."""
    needs_features: ClassVar[bool] = True
    """Whether there is no model without features, as an intercept is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if hasattr(self, "features"):
            normalise_columns(self, "features")

    @property
    def target(self) -> Target:
        """What is learned beside features, and the columns that are written."""
        return Target(None, {})

    @property
    def rounds(self) -> int:
        """How many rounds training takes at most, for progress: its ``max_iter``; 0 when it cannot be told."""
        return getattr(self, "max_iter", 0)

    @property
    def watches_validation(self) -> bool:
        """Whether it ends early by rows that it is not trained on: it has ``early_stopping_rounds``."""
        return getattr(self, "early_stopping_rounds", None) is not None

    def without_validation(self, fitted: Sequence[Fitted]) -> Self:
        """Return the trainer for all rows, with none to watch: for as many rounds as were kept on average.

        Parameters
        ----------
        fitted : sequence of mapping
            What it learned on each fold, where it watched the other rows.
        """
        hint = "Take rows to validate with from CrossValidator(..., refit=False), and fit(..., validation=) with them."
        raise ConfigError(f"{self.title} cannot be trained without rows to watch", hint=hint, stage=self.title)

    def without_start(self) -> Self:
        """Return the trainer without what its parameters give it to begin with: it goes on from what it has learned."""
        return self

    def trains(self, schema: pa.Schema) -> bool:
        """Return whether it learns from rows once its statistics are finished; the stage is bound."""
        return type(self).train is not Trainer.train

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        """Learn from the frames of every rank; what rank 0 returns is kept.

        Parameters
        ----------
        learned : mapping
            What `finish` made of the statistics before; it is returned where nothing more is learned.
        """
        return learned

    @classmethod
    def train_together(cls, rank: Rank, trainings: Sequence[tuple[Self, Fitted]]) -> list[Fitted]:
        """Learn as several trainers that differ in parameters alone, from the same rows; every rank calls it.

        A trainer of its own makes less of it than one training after the other, and of each what `train` does, to the
        bit. There are no checkpoints meanwhile.

        Parameters
        ----------
        trainings : sequence of (Trainer, mapping)
            The trainers, each with what `train` is given.
        """
        return [stage.train(rank, learned) for stage, learned in trainings]

    @classmethod
    def gains_together(cls) -> bool:
        """Return whether several are trained faster together than one after the other."""
        return cls.train_together.__func__ is not Trainer.train_together.__func__  # type: ignore[attr-defined]

    def bind(self, schema: pa.Schema) -> Self:
        aside = self._aside()
        require(schema, aside.values(), stage=self.title)
        chosen = numeric() - list(aside.values()) if self.features is None else self.features
        names = resolve(chosen, schema, self.title) if self.needs_features or chosen != () else ()
        if not self.takes_vectors:
            refuse_vectors(self, names, schema)
        numbers = Features.of(names, schema, self.title).numbers if self.takes_vectors else names
        check_types(self, schema, numbers, vectors=self.tags.vectors)
        check_types(self, schema, self._weights)
        for role, name in aside.items():
            if name in names:
                raise ConfigError(f"{role} {name!r} is among the features", column=name, stage=self.title)
        self.target.check(self, schema)
        return dataclasses.replace(self, features=names)  # type: ignore[type-var]

    def _aside(self) -> dict[str, str]:
        """Return the columns that are no features, by their roles."""
        named = {role: getattr(self, role, None) for role in self.roles}
        return {role: name for role, name in named.items() if name is not None}

    @property
    def _weights(self) -> tuple[str, ...]:
        """The weight, where there is one."""
        weight = getattr(self, "weight", None)
        return () if weight is None else (weight,)

    def inputs(self) -> tuple[str, ...]:
        return self.features  # type: ignore[return-value]

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The features; the stage is bound."""
        return self.features  # type: ignore[return-value]

    def over_elements(self, sizes: Mapping[str, int]) -> Self:
        """Return the same trainer of the elements of vectors of these lengths."""
        return dataclasses.replace(self, features=expand(self.number_columns, sizes))  # type: ignore[type-var]

    def training_columns(self) -> tuple[str, ...]:
        """Return the columns that are read at fit: the features, and those of other roles."""
        return tuple(dict.fromkeys((*self.inputs(), *self._aside().values())))

    def _refused(self, name: str, rule: Rule, count: int) -> DataValueError:
        """Return the error for `count` values of a column that break a rule; nulls of a feature can be imputed."""
        error = rule.error(name, count)
        if rule.test == "null" and name in self.inputs():
            error.hint = "Put an Imputer before this step, or filter these rows."
        return error

    def outputs(self) -> tuple[str, ...]:
        return tuple(self.target.columns)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, self.target.types(schema))

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        """Return the schema with what is written, by what was learned."""
        return with_fields(self.output_schema(schema), self.target.learned_types(schema, fitted))

    def notes(self, fitted: Fitted) -> list[str]:
        if fitted.get("converged", True):
            return []
        return [f"not converged after {fitted['iterations']} iterations; raise max_iter or tol"]


def as_trainer(stage: Stage, schema: pa.Schema) -> Trainer | None:
    """Return a bound stage as the trainer that is to be trained on rows of `schema`, None where it is not.

    Examples
    --------
    >>> from penstock.stages import LinearRegression, Log1p
    >>> schema = pa.schema({"x": pa.float64(), "y": pa.float64()})
    >>> [as_trainer(stage, schema) for stage in (Log1p(("x",)), LinearRegression("y").bind(schema))]
    [None, None]
    """
    return stage if isinstance(stage, Trainer) and stage.trains(schema) else None
