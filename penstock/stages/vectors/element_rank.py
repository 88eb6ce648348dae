"""A rank whose rows have the elements of dense vectors as columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import narwhals as nw

from penstock.core.errors import DataValueError
from penstock.spmd import Rank
from penstock.spmd.assignment import DataShare
from penstock.spmd.prepared import Prepared
from penstock.spmd.rank import Batch
from penstock.stages.vectors.elements import VectorElements


@dataclass(frozen=True, eq=False)
class ElementRank(Rank):
    """A rank that reads vectors, and gives batches of their elements.

    Parameters
    ----------
    elements : VectorElements
    """

    elements: VectorElements = field(kw_only=True)

    @classmethod
    def of(cls, rank: Rank, elements: VectorElements) -> ElementRank:
        """Return a rank as one that gives elements."""
        return cls(**{each.name: getattr(rank, each.name) for each in fields(Rank)}, elements=elements)

    def prepared(self, key: Hashable, build: Callable[[], Prepared]) -> Prepared:
        # A column of a user's may have the name of an element.
        return super().prepared((self.elements, key), build)

    def _convert(
        self, share: DataShare, columns: Sequence[str], convert: Callable[[nw.DataFrame], Batch]
    ) -> Iterator[Batch]:
        def convert_elements(frame: nw.DataFrame[Any]) -> Batch:
            view = self.elements.view(frame, columns)
            try:
                return convert(view)
            except DataValueError as error:
                raise self.elements.blamed(error) from error.__cause__

        return super()._convert(share, self.elements.collect(columns), convert_elements)
