"""Stages that make columns ready for training; one a module."""

from penstock.stages.preprocessing.clip import Clip
from penstock.stages.preprocessing.date_difference import DateDifference
from penstock.stages.preprocessing.date_parts import DateParts
from penstock.stages.preprocessing.expect import Expect
from penstock.stages.preprocessing.imputer import Imputer
from penstock.stages.preprocessing.indexer import StringIndexer
from penstock.stages.preprocessing.log1p import Log1p
from penstock.stages.preprocessing.scaler import StandardScaler

__all__ = ["Clip", "DateDifference", "DateParts", "Expect", "Imputer", "Log1p", "StandardScaler", "StringIndexer"]
