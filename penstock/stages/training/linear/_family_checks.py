"""What a family of distributions takes: labels within its domain, that differ where they have to, finite predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.errors import DataValueError
from penstock.stages.training.linear._families import Family
from penstock.statistics import Checks, Extreme
from penstock.statistics.rules import Rule, rules_for


@dataclass(frozen=True)
class FamilyChecks:
    """The checks of a generalised linear model over all rows before training, and the words of its errors.

    Parameters
    ----------
    name : str
        What the family is called.
    family : Family
    label : str
    features : sequence of str
    weight : str or None
    """

    name: str
    family: Family
    label: str
    features: Sequence[str]
    weight: str | None

    def statistic(self) -> Checks:
        """Ask for what is wrong with values; `Moments` refuses infinities besides."""
        domain = self.family.domain
        weight = rules_for((self.weight,), "null", "infinite", "too_large", "negative") if self.weight else ()
        named = [*rules_for((self.label, *self.features), "null"), *weight]
        return Checks((*named, *([(self.label, domain)] if domain else [])))

    def error(self, name: str, rule: Rule, count: int) -> DataValueError:
        """Return the error for `count` values of a column that break a rule."""
        error = rule.error(name, count)
        if rule == self.family.domain and name == self.label:
            outside = DataValueError(
                f"label {name!r} has {count} value(s) that the {self.name} family cannot have, expected"
                f" {self.family.expected}",
                hint="Choose another family, or filter these rows.",
                column=name,
            )
            outside.predicate = error.predicate
            return outside
        if rule.test == "null" and name in self.features:
            error.hint = "Put an Imputer before this step, or filter these rows."
        return error

    def require_variation(self, label: Extreme) -> None:
        """Raise DataValueError where all labels are one at the edge of the domain."""
        if label.min == label.max and float(label.min) in self.family.edges:
            raise DataValueError(
                f"label {self.label!r} is {label.min} in every row, for which the {self.name} family has no finite"
                " coefficients",
                hint="Train on rows whose labels differ.",
                column=self.label,
            )
