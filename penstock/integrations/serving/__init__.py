"""A fitted model behind HTTP, by FastAPI: `create_app` for a server of your own; `penstock serve` runs one."""

from penstock.integrations.serving.app import create_app

__all__ = ["create_app"]
