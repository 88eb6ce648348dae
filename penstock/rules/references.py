"""Other datasets that rules compare with: given, or read from a path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from penstock.dataset.dataset import check_dataset
from penstock.io.formats import FORMATS

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


def dataset_of(reference: Any, dataset: Dataset, what: str) -> Dataset:
    """Return a dataset: one that is given, or the files of a path, read on the engine of another dataset.

    Raises
    ------
    ConfigError
        It is neither; `what` takes it.
    InputError
        As the format of the files says, found by the suffix; a directory or a pattern without one is of Parquet.
    """
    if isinstance(reference, str | os.PathLike):
        engine: Any = dataset.engine
        return engine.read(format_of(os.fspath(reference)), reference)
    check_dataset(reference, what)
    return reference


def format_of(path: str) -> str:
    """Return the format of files by the suffix of their path.

    Examples
    --------
    >>> format_of("zones/*.csv.gz"), format_of("zones")
    ('csv', 'parquet')
    """
    known = [each for each in FORMATS.values() if not each.whole_files and each.suffixes]
    return next((each.name for each in known if path.lower().endswith(tuple(each.suffixes))), "parquet")
