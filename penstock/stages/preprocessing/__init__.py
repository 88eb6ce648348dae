"""Stages that make columns ready for training; one a module."""

from penstock.stages.preprocessing.categories.string_indexer import StringIndexer
from penstock.stages.preprocessing.dates.date_difference import DateDifference
from penstock.stages.preprocessing.dates.date_parts import DateParts
from penstock.stages.preprocessing.expect import Expect
from penstock.stages.preprocessing.missing.imputer import Imputer
from penstock.stages.preprocessing.numeric.clip import Clip
from penstock.stages.preprocessing.numeric.log1p import Log1p
from penstock.stages.preprocessing.scaling.standard_scaler import StandardScaler

__all__ = ["Clip", "DateDifference", "DateParts", "Expect", "Imputer", "Log1p", "StandardScaler", "StringIndexer"]
