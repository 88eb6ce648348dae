"""An evaluation, or a search, as one HTML page that needs nothing but itself: no script, no font, no network."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from penstock.core.locations import read_location
from penstock.io.sinks import write_file
from penstock.report.sections import Section, split
from penstock.report.text import show_count, show_label
from penstock.stages.evaluation.result import Evaluation

_DETAIL_EMS = 200.0


def render(evaluation: Evaluation, *, title: str = "Evaluation", details: Mapping[str, Any] | None = None) -> str:
    """Return the page: metrics, curves and slices of an evaluation, a section for each prefix of its names.

    Parameters
    ----------
    evaluation : Evaluation
        Its tables are drawn where their names are known (``roc``, ``pr``, ``calibration``, ``gains``,
        ``confusionMatrix``, ``byLabel``, ``residuals``, ``residualHistogram``, ``residualQuantiles``, ``clusters``,
        ``atK``), and shown as they are where not. Nulls, NaN and infinities in them are left out of drawings.
    title : str, default "Evaluation"
    details : mapping of str to any, optional
        What stands under the title, such as the rows and the model; whole numbers get thousands separators.

    Returns
    -------
    str
        HTML that refers to nothing outside itself, with a Content-Security-Policy that forbids scripts and requests.
        All text of the data is escaped and shortened. Equal input gives equal text.

    Examples
    --------
    >>> from penstock.stages.evaluation.result import Evaluation
    >>> "0.7342" in render(Evaluation({"areaUnderROC": 0.73421}), title="clicks", details={"rows": 200000})
    True
    """
    return render_sections("Evaluation", split(evaluation), title=title, details=details)


def render_sections(
    kind: str, sections: Sequence[Section], *, title: str, details: Mapping[str, Any] | None = None
) -> str:
    """Return the page of sections; `kind` says above the title what it is of."""
    style = _resource("style.css")
    return _template().render(
        kind=kind,
        title=show_label(title, _DETAIL_EMS),
        details={show_label(name, 40): _detail(value) for name, value in (details or {}).items()},
        sections=sections,
        style=Markup(style),
        style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def write_report(
    evaluation: Evaluation,
    path: str | os.PathLike[str],
    *,
    title: str = "Evaluation",
    details: Mapping[str, Any] | None = None,
) -> Path | str:
    """Write the page of an evaluation, whole or not at all; a page that is there is replaced.

    Parameters
    ----------
    evaluation : Evaluation
    path : str or PathLike
        A local path; folders that are missing are made.
    title : str, default "Evaluation"
    details : mapping of str to any, optional
        As for :func:`render`.

    Returns
    -------
    pathlib.Path or str
        The path; a URL as text.

    Raises
    ------
    OutputError, DiskFullError, CommitConflictError
        The page cannot be written, or another run wrote one meanwhile; what was there before still is.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.stages.evaluation.result import Evaluation
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(Evaluation({"rmse": 0.5}), f"{folder}/report.html").name
    'report.html'
    """
    return write_page(render(evaluation, title=title, details=details), path)


def write_page(page: str, path: str | os.PathLike[str]) -> Path | str:
    """Write a page, whole or not at all; errors are those of `write_report`."""
    return write_file(read_location(path, "report"), page.encode())


def _detail(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return show_count(value)
    return show_label(value, _DETAIL_EMS)


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_resource("template.html.j2"))


@cache
def _resource(name: str) -> str:
    return files("penstock.report").joinpath(name).read_text("utf-8")
