"""Reading a page: its elements, their attributes and text, by the standard library's own parsers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset(("meta", "br", "hr", "img", "input", "link"))


@dataclass
class Node:
    """An element of the page; `text` is all that it and its children say."""

    name: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def all(self, name: str, kind: str | None = None) -> list[Node]:
        """Return the elements below of a name and a class, in the order of the page."""
        found = (
            [self] if self.name == name and (kind is None or kind in self.attributes.get("class", "").split()) else []
        )
        return found + [node for child in self.children for node in child.all(name, kind)]

    def number(self, name: str) -> float:
        return float(self.attributes[name])


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {key: value or "" for key, value in attrs})
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for node in self.open:
            node.words.append(data)


def parse(page: str) -> Node:
    """Return the page as a tree; an assertion fails where tags do not match, or a drawing is not well-formed XML."""
    for drawn in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(drawn)
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert len(parser.open) == 1, f"<{parser.open[-1].name}> is not closed"
    return parser.open[0]


def figure(page: Node, title: str) -> Node:
    """Return the only figure of a title."""
    (found,) = [node for node in page.all("figure") if node.all("h3")[0].text == title]
    return found


def path_points(path: Node) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](\S+?) ([^L]+)", path.attributes["d"])]


def scale_of(drawn: Node, axis: str, low: str, high: str) -> tuple[float, float]:
    """Return where in a drawing two ticks are: for x where their labels have their middle, for y their grid lines."""
    if axis == "x":
        places = {node.text: node.number("x") for node in drawn.all("text", "tick") if "middle" in str(node.attributes)}
    else:
        ends = [node for node in drawn.all("text", "tick") if node.attributes["text-anchor"] == "end"]
        rows = [node.number("y1") for node in drawn.all("line", "grid")]
        places = {node.text: row for node, row in zip(ends, rows, strict=True)}
    return places[low], places[high]
