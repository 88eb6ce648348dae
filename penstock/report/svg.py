"""Elements of SVG, escaped; every drawing has a title and a description for those who do not see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape

Attributes = Mapping[str, str | float]


def element(name: str, attributes: Attributes, *children: str) -> Markup:
    """Return one element; children that are not Markup are text, and are escaped.

    Examples
    --------
    >>> element("text", {"x": 1.0, "y": 2.345}, "a < b")
    Markup('<text x="1" y="2.35">a &lt; b</text>')
    """
    shown = "".join(f' {key}="{escape(_value(value))}"' for key, value in attributes.items())
    if not children:
        return Markup(f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Return the parts in one, escaping those that are not Markup.

    Examples
    --------
    >>> join(["<", Markup("<g/>")])
    Markup('&lt;<g/>')
    """
    return Markup("").join(parts)


def drawing(
    size: tuple[float, float], title: str, description: str, body: Iterable[str], kind: str = "chart"
) -> Markup:
    """Return a whole drawing that is as wide as its place, of the class `kind`.

    Examples
    --------
    >>> drawing((10, 5), "A line", "It is flat.", [])
    Markup('<svg class="chart" viewBox="0 0 10 5" role="img"><title>A line</title><desc>It is flat.</desc></svg>')
    """
    width, height = size
    named = element("title", {}, title), element("desc", {}, description)
    outer = {"class": kind, "viewBox": f"0 0 {_value(width)} {_value(height)}", "role": "img"}
    return element("svg", outer, *named, *body)


def line(start: tuple[float, float], end: tuple[float, float], kind: str) -> Markup:
    """Return a straight line of the class `kind`.

    Examples
    --------
    >>> line((0, 0), (1, 2), "grid")
    Markup('<line class="grid" x1="0" y1="0" x2="1" y2="2"/>')
    """
    return element("line", {"class": kind, "x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]})


def words(place: tuple[float, float], text: str, kind: str = "", anchor: str = "start") -> Markup:
    """Return text that starts, has its middle or ends at a place.

    Examples
    --------
    >>> words((1, 2), "a&b", "tick", "end")
    Markup('<text x="1" y="2" class="tick" text-anchor="end">a&amp;b</text>')
    """
    named = {"class": kind} if kind else {}
    turned = {"text-anchor": anchor} if anchor != "start" else {}
    return element("text", {"x": place[0], "y": place[1], **named, **turned}, text)


def path(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """Return a line through the points.

    Examples
    --------
    >>> path([(0, 0), (1, 2.5)], "curve")
    Markup('<path class="curve" d="M0 0L1 2.5"/>')
    """
    return element("path", {"class": kind, "d": "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)})


def box(
    place: tuple[float, float], size: tuple[float, float], kind: str, tip: str, opacity: float | None = None
) -> Markup:
    """Return a rectangle that tells `tip` to who points at it.

    Examples
    --------
    >>> box((0, 0), (4, 2), "bar", "two")
    Markup('<rect class="bar" x="0" y="0" width="4" height="2"><title>two</title></rect>')
    """
    shade: dict[str, float] = {} if opacity is None else {"fill-opacity": opacity}
    x, y, width, height = *place, *size
    where: Attributes = {"class": kind, "x": x, "y": y, "width": max(width, 0), "height": max(height, 0)}
    return element("rect", {**where, **shade}, element("title", {}, tip))


def dot(place: tuple[float, float], radius: float, kind: str, tip: str) -> Markup:
    """Return a circle that tells `tip` to who points at it.

    Examples
    --------
    >>> dot((1, 2), 3, "dot", "here")
    Markup('<circle class="dot" cx="1" cy="2" r="3"><title>here</title></circle>')
    """
    return element("circle", {"class": kind, "cx": place[0], "cy": place[1], "r": radius}, element("title", {}, tip))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return value
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown
