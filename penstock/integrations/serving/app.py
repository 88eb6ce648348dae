"""The application: routes, limits, and what becomes of errors."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import Any

from penstock.core.errors import DataValueError, InputError
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
    from starlette.requests import ClientDisconnect

from penstock.pipeline.model import PipelineModel

MAX_ROWS, MAX_BYTES, MAX_VALUES = 10_000, 32 * 2**20, 2_000_000
BODY_SECONDS = 60.0
"""As long as the body of a request may take."""
_GONE, _LATE = 499, 408
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARKS = (b",", b":", b"{", b"[")
"""Texts of JSON, and the marks that stand before keys and values."""

logger = get_logger(__name__)


def create_app(
    model: PipelineModel,
    *,
    columns: str | Sequence[str] | None = None,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
    max_values: int = MAX_VALUES,
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
    max_rows, max_bytes, max_values : int
        Of one request; larger ones get status 413. Bytes are those declared, and those that come; values, with keys,
        are counted before any of them is made.

    Raises
    ------
    MissingExtraError
        FastAPI is not installed.
    SchemaError
        The model gives no such column.

    Notes
    -----
    A body that is no JSON, or has a value that the model refuses, gets status 422 with ``error``: its ``type``,
    ``message``, ``hint`` and ``column``. What was not expected gets 500, and stands in the log alone. A body that has
    not come after a minute gets 408; a client that has gone is counted as 499, as nginx does, and is no error.
    """
    wanted = None if columns is None else column_names(columns, "columns of serve")
    model.predict([], columns=wanted)  # which prepares it, and refuses columns before the first request
    _, needed = prune(model.steps, wanted or model.output_columns)
    decode = RowDecoder(model.schema, [name for name in model.schema.names if name in needed])
    meters = Meters()
    app = FastAPI(title="Penstock", version=model.digest, docs_url=None, redoc_url=None)
    app.state.meters = meters

    def score(body: bytes) -> tuple[bytes, int]:
        check_values(body, max_values)
        try:
            return answer(decode(body))
        except RecursionError as error:
            raise DataValueError("a value of the body is nested too deeply") from error

    def answer(rows: Any) -> tuple[bytes, int]:
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
        except ClientDisconnect:
            response, rows = Response(status_code=_GONE), 0
        except TimeoutError:
            response, rows = _answer_error(_LATE, "TimeoutError", f"no body within {BODY_SECONDS:g} s"), 0
        except Exception as error:
            logger.error("a request failed: %s", described(error))
            response, rows = _answer_error(500, "InternalError", "see the log"), 0
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
    """Return the body; one that is too long is not read to its end, nor waited for if it does not come."""
    check_declared(request.headers.get("content-length"), most)
    body = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise TooLargeError(f"the body is longer than {most} bytes")
    return bytes(body)


def _answer_error(status: int, kind: str, message: str) -> JSONResponse:
    """Return the answer to a request that is not scored; the rest of its body, if any, is not read: it is the last."""
    closing = {"Connection": "close"} if status in (408, 413) else None
    return JSONResponse({"error": {"type": kind, "message": message}}, status, closing)


def _refused(error: InputError | TooLargeError) -> JSONResponse:
    if isinstance(error, TooLargeError):
        return _answer_error(413, "TooLargeError", str(error))
    told = {"type": type(error).__name__, "message": error.message, "hint": error.hint, "column": error.column}
    return JSONResponse({"error": {name: value for name, value in told.items() if value is not None}}, 422)


class TooLargeError(Exception):
    """A request has more rows, values or bytes than are taken at once."""


def check_declared(length: str | None, most: int) -> None:
    """Raise TooLargeError for a body that is declared longer than is taken: none of it is read."""
    if length is not None and length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise TooLargeError(f"the body is declared to have {length:.30} bytes, expected at most {most}")


def check_values(body: bytes, most: int) -> None:
    """Raise TooLargeError for JSON of more keys and values than are taken.

    It counts what stands between them: an object of Python's takes up to a hundred times the bytes of its text, and a
    parser has made all of them before they can be counted.

    Examples
    --------
    >>> check_values(b'[{"x": "1, 2, 3, 4"}, {"x": null}]', most=6)
    >>> check_values(b"[{},{},{},{},{}]", most=5)
    Traceback (most recent call last):
    penstock.integrations.serving.app.TooLargeError: the body has 10 keys and values, expected at most 5
    """
    if _count(body) > most and (found := _count(_TEXT.sub(b"", body))) > most:
        raise TooLargeError(f"the body has {found} keys and values, expected at most {most}")


def _count(body: bytes) -> int:
    return sum(map(body.count, _MARKS))
