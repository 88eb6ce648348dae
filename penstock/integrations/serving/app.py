"""The application: routes, limits, and what becomes of errors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from penstock.core.errors import InputError
from penstock.core.extras import importing
from penstock.core.names import column_names
from penstock.core.notices import get_logger
from penstock.dataset.steps import prune
from penstock.dataset.task_errors import described
from penstock.integrations.serving.json_rows import RowDecoder, encode_rows

with importing("FastAPI", "serve"):
    from fastapi import FastAPI, Request, Response
    from fastapi.responses import JSONResponse
    from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
    from starlette.concurrency import run_in_threadpool

from penstock.pipeline.model import PipelineModel

MAX_ROWS, MAX_BYTES = 10_000, 32 * 2**20
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)

logger = get_logger(__name__)


class TooLargeError(Exception):
    """A request has more rows, or bytes, than are taken at once."""


def create_app(
    model: PipelineModel,
    *,
    columns: str | Sequence[str] | None = None,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
) -> FastAPI:
    """Return an ASGI application that scores rows by a model, with the numbers of `PipelineModel.predict`.

    ``POST /predict`` takes a row as a JSON object, or a list of them, and answers alike. ``GET /schema`` tells the
    columns that it takes and gives, with the classes of scores, ``GET /health`` the digest of the model, ``GET
    /metrics`` what Prometheus reads. JSON has no dates, decimals and bytes: they are texts, see `RowDecoder`.

    Parameters
    ----------
    model : PipelineModel
    columns : str or sequence of str, optional
        What is answered, as of `predict`.
    max_rows, max_bytes : int
        Of one request; larger ones get status 413.

    Raises
    ------
    MissingExtraError
        FastAPI is not installed.
    SchemaError
        The model gives no such column.

    Notes
    -----
    A body that is no JSON, or has a value that the model refuses, gets status 422 with ``error``: its ``type``,
    ``message``, ``hint`` and ``column``. What was not expected gets 500, and stands in the log alone.
    """
    wanted = None if columns is None else column_names(columns, "columns of serve")
    model.predict([], columns=wanted)  # which prepares it, and refuses columns before the first request
    _, needed = prune(model.steps, wanted or model.output_columns)
    decode = RowDecoder(model.schema, [name for name in model.schema.names if name in needed])
    meters = Meters()
    app = FastAPI(title="Penstock", version=model.digest, docs_url=None, redoc_url=None)
    app.state.meters = meters

    def score(body: bytes) -> tuple[bytes, int]:
        rows = decode(body)
        count = 1 if isinstance(rows, dict) else len(rows)
        if count > max_rows:
            raise TooLargeError(f"{count} rows are sent, expected at most {max_rows}")
        return encode_rows(model.predict(rows, columns=wanted)), count

    @app.post("/predict")
    async def predict(request: Request) -> Response:
        began = time.perf_counter()
        try:
            body, count = await run_in_threadpool(score, await _read(request, max_bytes))
            response, rows = Response(body, media_type="application/json"), count
        except (InputError, TooLargeError) as error:
            response, rows = _refused(error), 0
        except Exception as error:
            logger.error("a request failed: %s", described(error))
            response, rows = JSONResponse({"error": {"type": "InternalError", "message": "see the log"}}, 500), 0
        meters.note(response.status_code, rows, time.perf_counter() - began)
        return response

    @app.get("/schema")
    async def schema() -> dict[str, Any]:
        types = {name: str(model.schema.field(name).type) for name in model.input_columns}
        outputs = list(wanted or model.output_columns)
        classes = {name: list(each) for name, each in model.classes.items() if name in outputs}
        return {"inputs": types, "outputs": outputs} | ({"classes": classes} if classes else {})

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "digest": model.digest}

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(generate_latest(meters.registry), media_type="text/plain; version=0.0.4")

    return app


class Meters:
    """What was asked for, in Prometheus' form; of one application, so that a process may have several."""

    def __init__(self) -> None:
        self.requests = self.rows = 0
        self.registry = CollectorRegistry()
        self._requests = Counter("penstock_requests", "Requests, by status.", ["status"], registry=self.registry)
        self._rows = Counter("penstock_rows", "Rows that were scored.", registry=self.registry)
        self._seconds = Histogram(
            "penstock_request_seconds", "Time to answer.", registry=self.registry, buckets=_SECONDS
        )

    def note(self, status: int, rows: int, seconds: float) -> None:
        """Count a request."""
        self.requests += 1
        self.rows += rows
        self._requests.labels(str(status)).inc()
        self._rows.inc(rows)
        self._seconds.observe(seconds)


async def _read(request: Request, most: int) -> bytes:
    """Return the body; one that is too long is not read to its end."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise TooLargeError(f"the body is longer than {most} bytes")
    return bytes(body)


def _refused(error: InputError | TooLargeError) -> JSONResponse:
    if isinstance(error, TooLargeError):
        return JSONResponse({"error": {"type": "TooLargeError", "message": str(error)}}, 413)
    told = {"type": type(error).__name__, "message": error.message, "hint": error.hint, "column": error.column}
    return JSONResponse({"error": {name: value for name, value in told.items() if value is not None}}, 422)
