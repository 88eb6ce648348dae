"""What a rule over a dataset is: the statistics it needs, and how it judges their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw

from penstock.core.errors import ConfigError, SchemaError, check_one_of, class_name
from penstock.core.keywords import with_known_keywords
from penstock.core.schemas import require
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.dataset.dataset import Dataset

    TypeTests = Sequence[Callable[[pa.DataType], bool]]

SEVERITIES = ("error", "quarantine", "warn")


@dataclass(frozen=True)
class RuleVerdict:
    """What a rule says of a dataset.

    Attributes
    ----------
    passed : bool
    observed : Any
        The value that was compared with what is expected: a plain Python value, or a mapping of some.
    message : str
        What was found, in words.
    broken : int or None
        How many rows break the rule; None where rows by themselves do not.
    first : mapping or None
        The values of the first such row.
    row : int or None
        Its number in the dataset, where the scan saw it.
    predicate : narwhals.Expr or None
        True for the rows to look for, where the scan could not know which they are.
    """

    passed: bool
    observed: Any
    message: str
    broken: int | None = None
    first: Mapping[str, Any] | None = None
    row: int | None = None
    predicate: nw.Expr | None = None


@dataclass(frozen=True)
class DatasetRule(ABC):
    """A rule over a dataset: names statistics, which are gathered together with those of other rules, and judges them.

    Parameters
    ----------
    severity : {"error", "quarantine", "warn"}, default="error"
        Whether a dataset that breaks the rule fails the check, or is only reported; ``"quarantine"``, for rules that
        single rows break, has a write set these rows aside.

    Raises
    ------
    ConfigError
        A parameter is wrong, when the rule is made.
    SchemaError
        When a dataset is checked, before rows are read: a column is missing, or of a type that does not suit.
    """

    if not TYPE_CHECKING:  # who would take what it returns for Any
        __new__ = with_known_keywords

    _: KW_ONLY
    severity: str = "error"

    names_rows: ClassVar[bool] = False
    """Whether it can say of each row by itself that it breaks the rule."""

    def __post_init__(self) -> None:
        hint = '"error" fails the check, "warn" only reports, "quarantine" sets rows aside where they are written.'
        check_one_of("severity", self.severity, SEVERITIES, hint=hint)
        if self.severity == "quarantine" and not self.names_rows:
            problem = f"severity of {type(self).__name__} is 'quarantine', and it is not broken by single rows"
            raise ConfigError(problem, hint='Write severity="error" or "warn".')

    @property
    def title(self) -> str:
        """The rule as it is written in Python, without what is as by default."""
        told = [
            f"{each.name}={told_as(value)}" if each.kw_only else told_as(value)
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default and each.name != "severity"
        ]
        return f"{type(self).__name__}({', '.join(told)})"

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns that it is about."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What is expected, in words."""

    def bind(self, dataset: Dataset) -> Self:
        """Return the rule with values in the types of its columns; SchemaError where one is missing or unsuited."""
        require(dataset.schema, self.reads, stage=self.title)
        return self

    def prepare(self, dataset: Dataset) -> Dataset:
        """Return the dataset with the columns that the rule makes for its statistics."""
        return dataset

    @abstractmethod
    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return what to gather of the rows, by name."""

    def others(self, dataset: Dataset) -> dict[str, Any]:
        """Return what the rule needs beside: what it reads of other datasets, or asks of the query engine."""
        return {}

    def rows_to_set_aside(self, dataset: Dataset) -> nw.Expr:
        """Return what is true of a row that breaks the rule, where `names_rows`; the rule is bound to the dataset."""
        raise NotImplementedError(f"{type(self).__name__} names no rows")

    @abstractmethod
    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Return the verdict, from the results of the statistics and of `others`."""

    def recorded(self, verdict: RuleVerdict) -> RuleVerdict:
        """Return the verdict, once what it says is kept for later runs, where the rule compares with earlier ones."""
        return verdict


@dataclass(frozen=True)
class ColumnRule(DatasetRule):
    """A rule about one column."""

    column: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_column(self, self.column)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,)


def told_as(value: Any) -> str:
    """Return a parameter as it is told: short, and a dataset by its class.

    Examples
    --------
    >>> told_as(("a", "b")), told_as(3), told_as(tuple("abcdefg"))
    ("['a', 'b']", '3', "['a', 'b', 'c', 'd', 'e', ... (7 in all)]")
    """
    if isinstance(value, tuple | list):
        more = f", ... ({len(value)} in all)" if len(value) > 5 else ""
        return f"[{', '.join(map(told_as, value[:5]))}{more}]"
    return repr(value) if isinstance(value, str | int | float | bool) or value is None else class_name_or_text(value)


def class_name_or_text(value: Any) -> str:
    """Return a date or a duration as text, and of what has no short text the class."""
    text = str(value)
    return text if len(text) <= 40 and "\n" not in text else class_name(value)


def require_type(
    column: pa.Field, rule: DatasetRule, tests: Sequence[Callable[[pa.DataType], bool]], what: str
) -> None:
    """Raise SchemaError unless a column is of a type that passes one of `tests`; `what` says what the rule needs."""
    if not any(test(column.type) for test in tests):
        problem = f"column {column.name!r} is {column.type}, and {rule.title} needs {what}"
        raise SchemaError(problem, hint="Cast the column before.", column=column.name)


def check_column(rule: DatasetRule, column: Any) -> None:
    """Raise ConfigError unless a rule names its column by a text."""
    if not isinstance(column, str):
        kind = type(rule).__name__
        problem = f"column of {kind} is {class_name(column)}, expected the name of one column"
        raise ConfigError(problem, hint=f'Write {kind}("x", ...); a rule for each of several columns.')
