"""Rules over a whole dataset, which `dataset.check` judges from one scan; one rule a file, see `DatasetRule`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from penstock.rules._row_count import RowCount as RowCount
    from penstock.rules.base import DatasetRule as DatasetRule
    from penstock.rules.base import RuleVerdict as RuleVerdict
    from penstock.rules.between import Between as Between
    from penstock.rules.bounds import Bounds as Bounds
    from penstock.rules.condition import Condition as Condition
    from penstock.rules.foreign_key import ForeignKey as ForeignKey
    from penstock.rules.fresh import Fresh as Fresh
    from penstock.rules.in_set import InSet as InSet
    from penstock.rules.matches import Matches as Matches
    from penstock.rules.null_share import NullShare as NullShare
    from penstock.rules.report import CheckReport as CheckReport
    from penstock.rules.report import RuleOutcome as RuleOutcome
    from penstock.rules.sum_equals import SumEquals as SumEquals
    from penstock.rules.unique import Unique as Unique

__getattr__, __dir__, __all__ = lazy_imports(__name__)
