"""What stages share that make a column of 0 and 1 for each of some categories, named before any data is read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.base import Fitted, SelectedColumns
from penstock.stages.parameter_checks import checked_by, in_range
from penstock.stages.preprocessing.categories.vocabulary import check_frequency, check_new, holds, spelt
from penstock.statistics.base import Statistic


@dataclass(frozen=True)
class IndicatorStage(SelectedColumns):
    """A stage with columns for categories that are given, or for as many of the most frequent as are asked for."""

    _: KW_ONLY
    categories: tuple[tuple[Any, ...], ...] | None = None
    max_categories: int | None = field(default=None, metadata=in_range(least=1, whole=True))
    min_frequency: int | float = field(default=1, metadata=checked_by(check_frequency))
    handle_invalid: str = "keep"

    made_type: ClassVar[pa.DataType | None] = pa.int8()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.categories is not None:
            self._check_nested(self.categories)
            object.__setattr__(self, "categories", tuple(tuple(values) for values in self.categories))
        if (self.categories is None) == (self.max_categories is None):
            raise ConfigError(
                f"categories of {self.title} are {self.categories!r} and max_categories is {self.max_categories!r},"
                " expected one of them",
                hint="They tell how many columns there will be, before any data is read.",
                stage=self.title,
            )

    def _check_nested(self, categories: Sequence[Any]) -> None:
        for values in categories:
            if not isinstance(values, Sequence) or isinstance(values, str):
                raise ConfigError(
                    f"categories of {self.title} hold {values!r:.200}, expected a list of values for each column",
                    hint='Write categories=[["a", "b"]] for one column.',
                    stage=self.title,
                )

    def _check_categories(self, kinds: Sequence[pa.DataType]) -> None:
        """Raise ConfigError unless the categories given, if any, are different values of the type of each column."""
        if self.categories is None:
            return
        if len(self.categories) != len(self.inputs()):
            raise ConfigError(
                f"{self.title} has {len(self.inputs())} columns but categories of {len(self.categories)}",
                stage=self.title,
            )
        for name, kind, values in zip(self.inputs(), kinds, self.categories, strict=True):
            if not values or len(set(values)) < len(values) or not all(holds(kind, value) for value in values):
                raise ConfigError(
                    f"categories of column {name!r} are {values!r:.200}, expected different values of type {kind}",
                    column=name, stage=self.title,
                )  # fmt: skip

    @abstractmethod
    def _category_type(self, name: str, kind: pa.DataType) -> pa.DataType:
        """Return the type of the categories in a column of type `kind`; SchemaError where it can have none."""

    @abstractmethod
    def _counts(self) -> Statistic:
        """Return the statistic from which categories are learned."""

    @abstractmethod
    def _most_frequent(self, name: str, found: Any) -> pa.Table:
        """Return the categories of a column, as ``value`` and how often each was there."""

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check the categories and the names of what is made."""
        bound = super().bind(schema)
        bound._check_categories([self._category_type(name, schema.field(name).type) for name in bound.inputs()])
        check_new(bound, schema)
        return bound

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask how often each value occurs, unless categories are given."""
        return {} if self.categories is not None else {"values": self._counts()}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``categories`` of each column."""
        if self.categories is not None:
            return {"categories": {name: pa.table({"value": list(self._given(name))}) for name in self.inputs()}}
        return {"categories": {name: self._most_frequent(name, results["values"][name]) for name in self.inputs()}}

    def outputs(self) -> tuple[str, ...]:
        """Return the columns made, those of the first column first."""
        return tuple(out for name in self.inputs() for out, _ in self._made(name))

    def _made(self, name: str) -> list[tuple[str, int]]:
        """Return the columns made of one, each with the code it is for: of a category, of others, and of null."""
        texts = [spelt(value) for value in self._given(name)] or [str(place) for place in range(self._width(name))]
        made = [*texts, "other", "null"] if self.handle_invalid == "keep" else texts
        return [(f"{name}_{text}", code) for code, text in enumerate(made)]

    def _given(self, name: str) -> tuple[Any, ...]:
        return () if self.categories is None else self.categories[self.inputs().index(name)]

    def _width(self, name: str) -> int:
        """Return the code of what is no category."""
        return self.max_categories or len(self._given(name))
