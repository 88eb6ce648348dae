"""What a display of a notebook says: the texts of its HTML, by the tag around them."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

VOID = {"meta", "br", "hr", "circle", "line", "path", "rect", "polyline"}


class Page(HTMLParser):
    """The texts of a display by the tag around them; a tag that is not closed is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self.open and self.open[-1] != "style":
            self.texts.append((self.open[-1], data.strip()))

    def of(self, tag):
        return [text for around, text in self.texts if around == tag]


class Shell:
    """An IPython shell with a kernel; records displayed outputs."""

    kernel = object()

    def __init__(self) -> None:
        self.execution_count, self.outputs, self.updates = 1, [], []
        self.display_pub = SimpleNamespace(publish=self._publish)

    def _publish(self, data, *, transient, update):
        (self.updates if update else self.outputs).append((transient["display_id"], data))

    @property
    def last(self) -> tuple[str, dict]:
        return (self.updates or self.outputs)[-1]

    @property
    def lines(self) -> list[str]:
        return re.sub(r"\d+\.\d s", "0 s", self.last[1]["text/plain"]).splitlines()

    @property
    def page(self) -> Page:
        return Page(self.last[1]["text/html"])
