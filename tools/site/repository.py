"""Files of the repository as pages of the site: README files as they are, notebooks by cell, others as their source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)")
ALWAYS = ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md", "benchmarks/results/README.md", "data/README.md")
"""What the navigation of the site has, linked to or not."""

LANGUAGES = {".py": "python", ".sh": "bash", ".yaml": "yaml", "": "docker"}


def page_of(path: str) -> str:
    """Return the page, below docs/, that shows a file or folder of the repository.

    Examples
    --------
    >>> page_of("docs/etl.md"), page_of("jobs/README.md"), page_of("dags/trips.py"), page_of("pipelines")
    ('etl.md', 'repository/jobs.md', 'repository/dags/trips.py.md', 'repository/pipelines/index.md')
    """
    if path == "README.md":
        return "quick-start.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith("/README.md"):  # no index of the section that it is in
        return f"repository/{path.removesuffix('/README.md')}.md"
    if _readme(path) != path:
        return page_of(_readme(path))
    if (ROOT / path).is_dir():
        return f"repository/{path}/index.md"
    return f"repository/{path}" if path.endswith(".md") else f"repository/{path}.md"


def linked(markdown: str, home: str) -> Iterator[str]:
    """Give the paths, from the root of the repository, that the text of the file `home` links to."""
    for found in LINK.finditer(markdown):
        yield _absolute(found[1], home)


def rewrite(markdown: str, home: str, page: str) -> str:
    """Return the text of the file `home` with links from `page` to the pages of what they name."""
    folder = str(PurePosixPath(page).parent)
    return LINK.sub(lambda found: relpath(page_of(_absolute(found[1], home)), folder), markdown)


def show(path: str) -> str:
    """Return the page of a file or folder of the repository; a file that is not there is an error."""
    place = ROOT / path
    if place.is_dir():
        files = sorted(file.name for file in place.glob("*.*") if file.suffix in LANGUAGES)
        return f"# {path}\n\n" + "".join(f"- [{name}]({name})\n" for name in files)
    text = place.read_text(encoding="utf-8")
    if place.suffix == ".md":
        return text
    if place.suffix == ".ipynb":
        return show_notebook(text)
    return f"# {path}\n\n````{LANGUAGES.get(place.suffix, '')}\n{text}````\n"


def show_notebook(text: str) -> str:
    r"""Return a notebook as a page: its texts as they are, and its code.

    Examples
    --------
    >>> show_notebook('{"cells": [{"cell_type": "code", "source": ["a = 1\\n", "a"]}]}')
    '```python\na = 1\na\n```\n'
    """
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    return "\n\n".join(source if kind == "markdown" else f"```python\n{source}\n```" for kind, source in cells) + "\n"


def pages(starts: dict[str, str]) -> dict[str, str]:
    """Return the texts of the files outside of docs/ that texts, by the path of their file, lead to by links."""
    found = {path: show(path) for path in ALWAYS}
    waiting = [*starts.items(), *found.items()]
    while waiting:
        home, text = waiting.pop()
        for path in map(_readme, linked(text, home)):
            if path != "README.md" and not path.startswith("docs/") and path not in found and (ROOT / path).exists():
                found[path] = show(path)
                waiting.append((home_of(path), found[path]))
    return found


def home_of(path: str) -> str:
    """Return the file whose folder the links of a page start from: a folder's page is in it."""
    return f"{path}/index.md" if (ROOT / path).is_dir() else path


def _readme(path: str) -> str:
    """Return the README of a folder that has one, and any other path as it is."""
    readme = f"{path}/README.md"
    return readme if (ROOT / readme).is_file() else path


def _absolute(link: str, home: str) -> str:
    return normpath(str(PurePosixPath(home).parent / link))
