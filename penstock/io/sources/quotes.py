"""Where the records of a CSV text end: at line ends outside quotes, followed exactly from block to block."""

from __future__ import annotations

import numpy as np

NEWLINE, RETURN = 10, 13


class RecordEnds:
    r"""Finds record ends in the consecutive blocks of one text that starts at a record.

    A line ends at ``\n``, ``\r\n`` or a ``\r`` alone. A quote opens only at the start of a field and a quote in an
    unquoted field is an ordinary character, which is how pyarrow reads it. Counting quotes would do for most files; a
    measure such as ``5" pipe`` would turn it inside out.

    Parameters
    ----------
    delimiter : str
    quote : str or None
        None when no quotes are used.

    Examples
    --------
    >>> ends = RecordEnds(",", '"')
    >>> ends.feed(b'a,"x'), ends.feed(b'\ny"\nb')
    (array([], dtype=int64), array([4]))
    """

    def __init__(self, delimiter: str, quote: str | None) -> None:
        self._delimiter = ord(delimiter)
        self._quote = -1 if quote is None else ord(quote)
        self._seen = 0
        self._last = NEWLINE
        self._flip = -2
        self.open = False
        self.opened = 0
        """Byte of the text at which the quote that is open, or the last one that was, opened."""

    def feed(self, block: bytes) -> np.ndarray:
        r"""Return the positions in `block` just after each record end.

        One is 0 where the block before ended in a ``\r`` that turns out to stand alone.
        """
        text = np.frombuffer(block, np.uint8)
        flips = self._flips(text)
        ends = self._line_ends(block, text)
        outside = (np.searchsorted(flips, ends) + self.open) % 2 == 0
        self._advance(text, flips)
        return ends[outside]

    def _line_ends(self, block: bytes, text: np.ndarray) -> np.ndarray:
        ends = np.flatnonzero(text == NEWLINE) + 1
        if self._last != RETURN and b"\r" not in block:
            return ends
        after = np.flatnonzero(np.frombuffer(bytes((self._last,)) + block, np.uint8)[:-1] == RETURN)
        return np.sort(np.concatenate((ends, after[text[after] != NEWLINE])))

    def _flips(self, text: np.ndarray) -> np.ndarray:
        """Return the quotes at which the text enters or leaves quotes; a doubled quote does both."""
        quotes = np.flatnonzero(text == self._quote)
        before = np.where(quotes > 0, text[quotes - 1], self._last)
        starts = (before == self._delimiter) | (before == NEWLINE) | (before == RETURN)
        opening = (np.arange(len(quotes)) + self.open) % 2 == 0
        if np.all(starts | self._adjacent(quotes) | ~opening):
            return quotes
        return self._walk(quotes, starts)

    def _adjacent(self, flips: np.ndarray) -> np.ndarray:
        return np.diff(flips, prepend=self._flip) == 1

    def _walk(self, quotes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        flips, inside, last = [], self.open, self._flip
        for position, start in zip(quotes.tolist(), starts.tolist(), strict=True):
            if inside or start or position == last + 1:
                flips.append(position)
                inside, last = not inside, position
        return np.array(flips, dtype=np.int64)

    def _advance(self, text: np.ndarray, flips: np.ndarray) -> None:
        opening = (np.arange(len(flips)) + self.open) % 2 == 0
        openings = flips[opening & ~self._adjacent(flips)]
        self.opened = self._seen + int(openings[-1]) if len(openings) else self.opened
        self.open = bool((self.open + len(flips)) % 2)
        self._flip = int(flips[-1] if len(flips) else self._flip) - len(text)
        self._last = int(text[-1]) if len(text) else self._last
        self._seen += len(text)
