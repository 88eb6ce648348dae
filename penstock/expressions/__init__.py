"""Conditions on rows as text, in Python's syntax but never run as Python.

Allowed are comparisons (chained ones too), ``and``, ``or``, ``not``, ``+ - * / % **``, ``in (...)``, ``is None``,
``abs()``, ``len()`` of strings, numbers, strings, True and False. A name is a column; one that Python would not take as
a name stands between backticks. Anything else is refused.
"""

from penstock.expressions.nodes import Operand
from penstock.expressions.parsing import Expression, parse

__all__ = ["Expression", "Operand", "parse"]
