"""Rows that are read once and then held, in memory or on local disk, by the processes that read them."""

from penstock.io.persisted.persistence import Persistence
from penstock.io.persisted.row_store import FragmentRows, RowStore, forget, store_of, usage_of

__all__ = ["FragmentRows", "Persistence", "RowStore", "forget", "store_of", "usage_of"]
