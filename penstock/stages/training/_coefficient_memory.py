"""Whether the coefficients of many classes and many features fit into memory, asked before they are made."""

from __future__ import annotations

from penstock import devices
from penstock.core.errors import ConfigError
from penstock.core.sizes import show_bytes


def refuse_too_many(stage: str, classes: int, features: int, copies: int) -> None:
    """Raise ConfigError where coefficients take more memory than this process may have.

    Parameters
    ----------
    classes, features : int
        The shape of a matrix of coefficients, of float64.
    copies : int
        How many such matrices there are at a time, at most.

    Examples
    --------
    >>> refuse_too_many("NaiveBayes", classes=20, features=2**18, copies=5)
    """
    needed, limit = classes * features * 8 * copies, devices.memory_limit()
    if needed > limit:
        raise ConfigError(
            f"{stage} would take {show_bytes(needed)} of memory, {copies} times {classes:,} x {features:,} coefficients"
            f" of 8 bytes, and this process may have {show_bytes(limit)}",
            hint="Hash words into fewer indices or leave rare ones out, join rare classes, or use a larger machine.",
            stage=stage,
        )
