"""The engine without a cluster: this process, its threads, its GPU."""

from penstock.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
