"""Checks of a dataset, as it offers them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Checking:
    """The part of a dataset that says whether its rows keep rules."""

    def check(self, *rules: Any, memory_budget: int | str | None = None) -> Any:
        """Return which rules of `penstock.rules` the rows keep, from one scan for all of them.

        Where a rule is broken, and the scan cannot name the first row that breaks it, as with `Unique`, its file is
        looked for in a read of its own. `ForeignKey` and `SumEquals` read other datasets.

        Parameters
        ----------
        *rules : rule of `penstock.rules`
        memory_budget : int or str, optional
            What counting values for `Unique` may take in any one process, ``"4GiB"`` say; half of its memory unless
            given.

        Returns
        -------
        CheckReport
            An outcome for each rule, in their order; ``raise_if_failed()`` raises where one is broken.

        Raises
        ------
        ConfigError
            There is no rule, or something that is none; counting would take more than the memory.
        SchemaError
            Before reading: a column of a rule is missing, or of a type that does not suit.

        Examples
        --------
        >>> import penstock as ps, pyarrow as pa
        >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"id": [1, 2, 3], "age": [31, None, 58]}))
        >>> data.check(ps.rules.Unique("id"), ps.rules.Between("age", least=0, most=120)).passed
        True
        """
        return import_module("penstock.rules.in_pass").check(self, rules, memory_budget)
