"""Parameters with one value for all columns, or one for each."""

from __future__ import annotations

from typing import Any

from penstock.core.errors import ConfigError
from penstock.stages.base import ColumnStage, Stage
from penstock.stages.parameter_checks import wrong_parameter


def per_column(stage: Stage, name: str) -> dict[str, Any]:
    """Return a parameter of a bound stage by column; a tuple has one value for each, anything else is for all.

    Raises
    ------
    ConfigError
        There are not as many values as columns.

    Examples
    --------
    >>> from penstock.stages import Binarizer
    >>> per_column(Binarizer(["a", "b"], threshold=(1, 2)), "threshold")
    {'a': 1, 'b': 2}
    """
    columns, value = stage.inputs(), getattr(stage, name)
    if not isinstance(value, tuple):
        return dict.fromkeys(columns, value)
    if len(value) != len(columns):
        raise ConfigError(
            f"{name} of {stage.title} has {len(value)} values for {len(columns)} columns",
            hint="Give one value for all columns, or one for each, in their order.",
            stage=stage.title,
        )
    return dict(zip(columns, value, strict=True))


def check_counts(stage: ColumnStage, name: str) -> None:
    """Turn a list into a tuple, and raise ConfigError unless a parameter is a number of buckets, or one for each.

    Examples
    --------
    >>> from penstock.stages import QuantileDiscretizer
    >>> QuantileDiscretizer("a", num_buckets=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    penstock.errors.ConfigError: num_buckets of QuantileDiscretizer is 1, expected an integer >= 2 or one for ...
    """
    value = getattr(stage, name)
    counts = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not counts or not all(type(each) is int and each >= 2 for each in counts):
        raise wrong_parameter(stage, name, "an integer >= 2 or one for each column")
    if isinstance(value, list):
        object.__setattr__(stage, name, counts)
