"""Ids of traces and spans that follow from the id of a run."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from itertools import count

from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator


class RunIds(IdGenerator):
    """Gives the trace of a run one id, and its spans ids by their order.

    Parameters
    ----------
    run_id : str

    Examples
    --------
    >>> first, again = RunIds("20260101T000000000000-0a1b2c3d"), RunIds("20260101T000000000000-0a1b2c3d")
    >>> first.generate_trace_id() == again.generate_trace_id(), first.generate_span_id() == again.generate_span_id()
    (True, True)
    >>> first.generate_span_id() == first.generate_span_id()
    False
    """

    def __init__(self, run_id: str) -> None:
        self._run_id, self._places = run_id, count()

    def generate_trace_id(self) -> int:
        """Return 16 bytes."""
        return self._digest("trace", 16)

    def generate_span_id(self) -> int:
        """Return 8 bytes, others each time."""
        return self._digest(f"span {next(self._places)}", 8)

    def _digest(self, name: str, length: int) -> int:
        digest = sha256(f"{self._run_id} {name}".encode()).digest()
        return int.from_bytes(digest[:length], "big") or 1


def parent_context(environ: Mapping[str, str]) -> Context:
    """Return the context that ``TRACEPARENT`` and ``TRACESTATE`` give; an empty one where they are not set, or broken.

    Examples
    --------
    >>> from opentelemetry.trace import get_current_span
    >>> given = {"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    >>> hex(get_current_span(parent_context(given)).get_span_context().span_id)
    '0xb7ad6b7169203331'
    """
    carrier = {name: environ[name.upper()] for name in ("traceparent", "tracestate") if name.upper() in environ}
    return TraceContextTextMapPropagator().extract(carrier, context=Context())
