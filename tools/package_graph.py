"""Draw the packages of the library, from its imports, into docs/architecture.md; with --check, say whether it is so."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Set
from pathlib import Path

import grimp

from tools.pages import write_or_check

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
BEGIN, END = "<!-- drawn by make docs -->\n", "<!-- end of the drawing -->\n"


def package_imports() -> dict[str, set[str]]:
    """Return which packages of the library each imports, imports for type checkers included."""
    graph = grimp.build_graph("penstock", cache_dir=None)
    imports: dict[str, set[str]] = {}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            ours, other = module.split(".")[1:2], imported.split(".")[1:2]
            if ours and other and ours != other and ours != ["__main__"]:
                imports.setdefault(ours[0], set()).add(other[0])
    return imports


def reachable(imports: Mapping[str, Set[str]], package: str) -> set[str]:
    """Return all packages that `package` needs, by however many others."""
    seen: set[str] = set()
    left = list(imports.get(package, ()))
    while left:
        each = left.pop()
        if each not in seen:
            seen.add(each)
            left += imports.get(each, ())
    return seen


def essential(imports: Mapping[str, Set[str]]) -> list[tuple[str, str]]:
    """Return the imports that no chain of others says too.

    Examples
    --------
    >>> essential({"a": {"b", "c"}, "b": {"c"}})
    [('a', 'b'), ('b', 'c')]
    """
    return sorted(
        (package, other)
        for package, others in imports.items()
        for other in others
        if not any(other in reachable(imports, between) for between in others - {other})
    )


def drawing() -> str:
    """Return the packages as a Mermaid flowchart: an arrow goes to what is needed."""
    arrows = "".join(f"    {package} --> {other}\n" for package, other in essential(package_imports()))
    return f"{BEGIN}```mermaid\nflowchart TD\n{arrows}```\n{END}"


def page(text: str) -> str:
    """Return the page with the drawing as it should be."""
    before, _, rest = text.partition(BEGIN)
    return before + drawing() + rest.partition(END)[2]


def main() -> int:
    """Write the page, or tell whether it is as it should be."""
    return write_or_check(__doc__, lambda: {PAGE: page(PAGE.read_text(encoding="utf-8"))}, "today's imports")


if __name__ == "__main__":
    sys.exit(main())
