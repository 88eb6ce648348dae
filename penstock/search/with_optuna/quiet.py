"""Optuna without what it logs and warns of on the way, which is nothing to its caller here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import optuna


@contextmanager
def quiet() -> Iterator[None]:
    """Have Optuna log errors alone inside, and not warn of what is experimental: its versions are pinned."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)
