"""The table of formats: each plans a source of its files and, where it can, writes one part of an output.

``engine.read(name, paths, **options)`` and ``dataset.write(path, format=name, **options)`` look a format up here. One
format is one module: its options, and how its files become a dataset.
"""

from penstock.io.formats.base import Format, ReadOptions, TableOptions, TextOptions
from penstock.io.formats.table import FORMATS, find_format, register_format

__all__ = ["FORMATS", "Format", "ReadOptions", "TableOptions", "TextOptions", "find_format", "register_format"]
