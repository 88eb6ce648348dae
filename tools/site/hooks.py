"""What MkDocs calls as it builds the site: pages that are generated, links out of docs/, names that must be there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, InclusionLevel
from mkdocstrings import Inventory

from tools.site import reference, repository

log = get_plugin_logger("penstock")
NAMES = {path.rpartition(".")[2]: path for path in reversed(reference.paths())}
CODE = re.compile(r"(?<![`\[])`(\w+)`(?![`\]])")
MERMAID = re.compile(r"^```mermaid\nflowchart TD\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HIDDEN = {"navigation": ("index.md", "quick-start.md", "stages.md"), "toc": ("coming-from/", "errors.md", "stages.md")}
"""Beside pages: a navigation of one entry, and a table of contents where the page needs its width for wide tables."""

_homes: dict[str, str] = {}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the reference, the quick start, and the files of the repository that pages link to."""
    texts = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    generated = {**reference.pages(), "quick-start.md": quick_start()}
    for path, text in repository.pages({**texts, "README.md": generated["quick-start.md"]}).items():
        page = repository.page_of(path)
        generated[page] = text
        _homes[page] = repository.home_of(path)
    _homes["quick-start.md"] = "README.md"
    for page, text in generated.items():
        files.append(File.generated(config, page, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files into links to their pages, and names in tables into links to the reference."""
    uri = page.file.src_uri
    page.meta["hide"] = [side for side, pages in HIDDEN.items() if uri.startswith(pages)]
    if uri.startswith("reference/"):
        return markdown
    markdown = MERMAID.sub(lambda found: arrows_as_table(found[1]), markdown)
    markdown = repository.rewrite(markdown, _homes.get(uri, f"docs/{uri}"), uri)
    return "\n".join(link_names(line) if line.startswith("| ") else line for line in markdown.split("\n"))


def on_post_build(config: Any) -> None:
    """Warn of public names that the reference has not, which fails a strict build."""
    with Path(config.site_dir, "objects.inv").open("rb") as stream:
        there = Inventory.parse_sphinx(stream)
    for path in reference.paths():
        if path not in there:
            log.warning("%s is public, and the reference has it not", path)


def quick_start() -> str:
    """Return the part of README.md that takes a newcomer from installing to a first model, on every engine."""
    text = (repository.ROOT / "README.md").read_text(encoding="utf-8")
    body = text[text.index("    make run") : text.index("### Where to read on")]
    return "# Quick start\n\n" + body.replace("## A tour in ten minutes\n\n", "").replace("\n### ", "\n## ")


def link_names(line: str) -> str:
    """Return a line of a table with the public names in it as links to the reference.

    Examples
    --------
    >>> link_names("| `PCA` | as `sklearn.decomposition.PCA` |")
    '| [`PCA`][penstock.stages.PCA] | as `sklearn.decomposition.PCA` |'
    """
    return CODE.sub(lambda found: f"[{found[0]}][{NAMES[found[1]]}]" if found[1] in NAMES else found[0], line)


def arrows_as_table(drawing: str) -> str:
    r"""Return the arrows of a Mermaid flowchart as a table: what draws them is fetched from another host.

    Examples
    --------
    >>> print(arrows_as_table("    a --> b\n    a --> c\n"))
    | package | needs |
    | --- | --- |
    | `a` | `b`, `c` |
    """
    needs: dict[str, list[str]] = {}
    for line in drawing.strip().splitlines():
        package, _, other = line.strip().partition(" --> ")
        needs.setdefault(package, []).append(f"`{other}`")
    lines = [f"| `{package}` | {', '.join(others)} |" for package, others in needs.items()]
    return "\n".join(["| package | needs |", "| --- | --- |", *lines])
