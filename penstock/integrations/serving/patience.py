"""HTTP protocol with a deadline for the head of a request."""

from __future__ import annotations

import asyncio
from typing import Any

from penstock.core.extras import importing

with importing("uvicorn", "serve"):
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 30.0
"""As long as the head of a request may take; its body has a limit of the application's."""


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Protocol of uvicorn that closes idle connections after a deadline."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head, unless it is whole."""
        super().data_received(data)
        self._expect()

    def connection_lost(self, error: Exception | None) -> None:
        """Wait no more."""
        self._forget()
        super().connection_lost(error)

    def _expect(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
