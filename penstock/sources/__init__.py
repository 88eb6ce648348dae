"""Where data comes from: each module plans fragments of one kind of source and reads pieces of it."""

from penstock.sources.base import Source
from penstock.sources.binary import BinarySource
from penstock.sources.csv import CsvSource
from penstock.sources.jsonlines import JsonLinesSource
from penstock.sources.memory import MemorySource
from penstock.sources.parquet import ParquetSource

__all__ = ["BinarySource", "CsvSource", "JsonLinesSource", "MemorySource", "ParquetSource", "Source"]
