"""Where data comes from: each module plans fragments of one kind of source and reads pieces of it."""

from penstock.io.sources.base import Source
from penstock.io.sources.binary import BinarySource
from penstock.io.sources.csv import CsvSource
from penstock.io.sources.json_lines import JsonLinesSource
from penstock.io.sources.memory import MemorySource
from penstock.io.sources.parquet import ParquetSource

__all__ = ["BinarySource", "CsvSource", "JsonLinesSource", "MemorySource", "ParquetSource", "Source"]
