"""Outputs in object stores: parts at their final places, committed by a conditional write of the manifest."""

from penstock.io.sinks.stores.commit import StoreCommit
from penstock.io.sinks.stores.output import StoreDirectory, StoreFile

__all__ = ["StoreCommit", "StoreDirectory", "StoreFile"]
