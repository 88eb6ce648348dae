"""What a search writes besides the model, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from penstock.cli.evaluation import page_details, staged_page
from penstock.cli.requests import TuneRequest
from penstock.config.secrets import hide
from penstock.core.errors import ConfigError
from penstock.core.locations import is_url, read_location
from penstock.core.redaction import redact
from penstock.engines.base import Engine
from penstock.io.sinks import (
    OutputCommit,
    OutputDirectory,
    OutputFile,
    check_apart,
    new_run_id,
    output_directory,
    output_file,
)
from penstock.pipeline.model import PipelineModel
from penstock.search.page import render_search
from penstock.search.search_result import SearchResult
from penstock.search.storage import is_in_store
from penstock.stages.evaluation.result import Evaluation

_WRITERS = {".parquet": pq.write_table, ".csv": pyarrow.csv.write_csv}


@dataclass(frozen=True)
class TuneOutputs:
    """What a search writes, under one run id: put in place together, or not at all."""

    model: OutputDirectory
    table: OutputFile | None
    page: OutputFile | None

    @classmethod
    def of(cls, request: TuneRequest) -> TuneOutputs:
        """Return the outputs of a request; ConfigError for places that could not be written, or lie in each other."""
        run_id = new_run_id()
        model = output_directory(request.out, overwrite=request.overwrite, run_id=run_id)
        outputs = cls(model, _staged_table(request, run_id), staged_page(request, run_id))
        is_database = request.study is not None and is_url(request.study) and not is_in_store(request.study)
        study = [] if request.study is None or is_database else [request.study]
        check_apart([*study, *outputs.joint_commit().targets])
        return outputs

    def joint_commit(self) -> OutputCommit:
        """Return the commit of all that was asked for."""
        return OutputCommit(self.model, *(each for each in (self.table, self.page) if each is not None))

    def seal_table(self, result: SearchResult) -> None:
        """Stage the table of trials, if it was asked for."""
        if self.table is not None:
            sink = pa.BufferOutputStream()
            _WRITERS[PurePosixPath(self.table.target).suffix](result.table, sink)
            self.table.seal(sink.getvalue().to_pybytes())

    def seal_page(
        self, result: SearchResult, metrics: Evaluation, request: TuneRequest, model: PipelineModel, engine: Engine
    ) -> None:
        """Stage the page, if it was asked for: of the search, and of the best model on the rows held out."""
        if self.page is not None:
            details = page_details(request, self.page.run_id, model, engine)
            self.page.seal(render_search(result, title=request.pipeline, details=details, held_out=metrics).encode())


def _staged_table(request: TuneRequest, run_id: str) -> OutputFile | None:
    if request.table is None:
        return None
    text = read_location(request.table, "table")
    path = Path(text)
    if path.suffix not in _WRITERS or (not is_url(text) and (path.is_dir() or not path.resolve().parent.is_dir())):
        raise ConfigError(
            f"table is {str(request.table)!r}, expected a file ending in {' or '.join(_WRITERS)}, in a folder that is"
            " there",
            hint="Name a file: trials.parquet.",
        )
    return output_file(text, run_id=run_id)


def search_fields(result: SearchResult, request: TuneRequest) -> dict[str, Any]:
    """Return the fields of `TuneResult` that are of the search."""
    trials = [(trial, result.outcomes[trial.number]) for trial in result.trials if trial.number in result.outcomes]
    return {
        "metric": result.metric,
        "best_trial": result.best_trial.number,
        "best_score": result.best_score,
        "best_params": hide(result.best_trial.describe()),
        "trials": len(result.trials),
        "pruned": sum(outcome.state == "pruned" for _, outcome in trials),
        "failed": [
            {"trial": trial.number, "params": hide(trial.describe()), "reason": outcome.reason}
            for trial, outcome in trials
            if outcome.state == "failed"
        ],
        "study": None if request.study is None else redact(request.study),
        "table": None if request.table is None else str(request.table),
    }
