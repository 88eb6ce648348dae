"""Write three outputs together to a store for each line of stdin, in a process forked for it; print how that ended.

Run by test_store_kills in a process of its own, which imports once and connects to nothing: a line is
``[folder, options, run_id, failpoint]``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import s3fs  # noqa: F401

from penstock.io.sinks import OutputCommit, output_directory, output_file
from penstock.io.sinks.failpoints import VARIABLE
from tests.forked import answer_lines
from tests.stores.shelf import register


def write(folder: str, options: dict[str, Any], run_id: str, failpoint: str | None) -> None:
    if failpoint is not None:
        os.environ[VARIABLE] = failpoint
    rows, model = (
        output_directory(f"{folder}/{name}", overwrite=True, run_id=run_id, storage_options=options)
        for name in ("rows", "model")
    )
    page = output_file(f"{folder}/page.html", run_id=run_id, storage_options=options)
    with OutputCommit(rows, model, page) as joint:
        for output, name in ((rows, "part-00000.csv"), (model, "state/0.json")):
            put = output.parts.put(name, lambda path: Path(path).write_text(run_id) and None, rows=1, kind="csv")
            output.seal([put])
        page.seal(run_id.encode())
        joint.commit()


if __name__ == "__main__":
    register()
    answer_lines(write)
