"""Conditions on rows, and values of rows, as text, in Python's syntax but never run as Python.

Allowed are comparisons (chained ones too), ``and``, ``or``, ``not``, ``+ - * / % **``, ``in (...)``, ``is None``,
``abs()``, ``len()`` of strings, numbers, strings, True and False. A name is a column; one that Python would not take as
a name stands between backticks. Anything else is refused. What a value may be besides, `values` says.
"""

from penstock.expressions.nodes import Operand
from penstock.expressions.parsing import Expression, parse
from penstock.expressions.values import ValueExpression, parse_value

__all__ = ["Expression", "Operand", "ValueExpression", "parse", "parse_value"]
