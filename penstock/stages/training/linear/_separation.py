"""Coefficients that grow without bound, because what they belong to separates classes, or counts from zeros.

Such a likelihood has no maximum: in some direction it rises for ever, by less each step (Albert and Anderson, "On the
existence of maximum likelihood estimates in logistic regression models", Biometrika 71, 1984), so that a fit stops
where the rise is small. There Newton's step is nearly as long as the one before, and along it next to nothing is left
of the information that rows have without a model. Of a maximum a step is nearly nothing, and information is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNBOUNDED = "unbounded_features"
"""What the features whose coefficients grow without bound are called in what is learned."""
_SHARE = 0.004
_LEFT = 0.01


def moving(x: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return which coefficients of features, of one scale, a Newton step at the end of a fit moves by much."""
    size = np.abs(step)
    return (size > _SHARE * np.abs(x)) & (size > _SHARE * size.max(initial=0.0))


def collapsed(information: float, at_first: float) -> bool:
    """Return whether next to nothing is left of the information along a step, by that of a fit without features."""
    return information <= _LEFT * at_first


def unbounded_note(names: Sequence[str]) -> list[str]:
    """Return the note of a fit for the features whose coefficients grow without bound.

    Examples
    --------
    >>> unbounded_note(["shop", "day"])[0][:57]
    "not converged: the coefficients of 'shop', 'day' grow wit"
    """
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    why = "grow without bound, for with them some rows are predicted with certainty (separation)"
    return [f"not converged: the coefficients of {shown} {why}; set reg_param, or leave these out"] if names else []
