"""Let an alias stand for models, one a line of stdin, in a process forked for each; print how that ended.

Run by test_store_registry in processes of their own, which import once: a line is
``[registry, options, model, alias, failpoint]``.
"""

from __future__ import annotations

import os
from typing import Any

import s3fs  # noqa: F401

from penstock.artefact.registry import ModelRegistry
from penstock.io.sinks.failpoints import VARIABLE
from tests.forked import answer_lines
from tests.stores.shelf import register


def set_alias(registry: str, options: dict[str, Any], model: str, alias: str, failpoint: str | None) -> None:
    if failpoint is not None:
        os.environ[VARIABLE] = failpoint
    ModelRegistry(registry, options).register(model, alias=alias)


if __name__ == "__main__":
    register()
    answer_lines(set_alias)
