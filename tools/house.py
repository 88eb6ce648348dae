"""How the library is laid out, counted from its files and imports; with --check, refuse what is over its limit."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from penstock.stages.base import Stage
from penstock.stages.registry import discover
from penstock.statistics.base import Statistic
from tools.package_graph import package_imports

PACKAGE = Path(__file__).parents[1] / "penstock"
# Lines of code are to fall, to 30,000: lower the limit with the code.
LIMITS = {
    "entries at the root": 24,
    "cycles of packages": 0,
    "public class names that occur twice": 0,
    "lines of the longest module": 400,
    "lines of code": 77_946,
    "classes in the chain of a stage": 5,
    "public members of Stage": 15,
    "public members of Statistic": 4,
}
_UNCOUNTED = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}
_BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def main(check: bool) -> int:
    """Print each figure with its limit and what makes it; return how many are over it, if they are to be checked."""
    over = 0
    for name, (figure, cause) in figures().items():
        excess = figure > LIMITS[name]
        over += excess
        print(f"{figure:7,} of at most {LIMITS[name]:6,} {name}{f': {cause}' if cause else ''}{' <- over' * excess}")
    return over if check else 0


def figures() -> dict[str, tuple[int, str]]:
    """Return each figure, with what has it or adds up to it."""
    sources = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    lengths = {path: text.count("\n") for path, text in sources.items()}
    longest = max(lengths, key=lengths.__getitem__)
    twice = names_that_occur_twice(sources)
    chain, stage = max((len(chain_of(kind)), name) for name, kind in discover().items())
    cycle = package_cycle()
    return {
        "entries at the root": (len({path.name for path in PACKAGE.iterdir()} - _UNCOUNTED), ""),
        "cycles of packages": (bool(cycle), " -> ".join(cycle)),
        "public class names that occur twice": (len(twice), ", ".join(twice)),
        "lines of the longest module": (lengths[longest], str(longest.relative_to(PACKAGE.parent))),
        "lines of code": (sum(code_lines(text) for text in sources.values()), ""),
        "classes in the chain of a stage": (chain, stage),
        "public members of Stage": (len(public_members(Stage)), ""),
        "public members of Statistic": (len(public_members(Statistic)), ""),
    }


def code_lines(text: str) -> int:
    """Return how many lines have code: not blank, no comment, no docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def package_cycle() -> tuple[str, ...]:
    """Return packages that import each other in a circle; none if there is none."""
    try:
        TopologicalSorter(package_imports()).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def names_that_occur_twice(sources: dict[Path, str]) -> list[str]:
    """Return the names of public classes of public modules that more than one module has."""
    counts: Counter[str] = Counter()
    for path, text in sources.items():
        if not any(part.startswith("_") for part in path.relative_to(PACKAGE).with_suffix("").parts[:-1]):
            counts.update(
                node.name
                for node in ast.parse(text).body
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not path.name.startswith("_")
            )
    return sorted(name for name, count in counts.items() if count > 1)


def chain_of(kind: type) -> list[type]:
    """Return the classes of this library that a class is made of, itself included."""
    return [each for each in kind.__mro__ if each.__module__.startswith("penstock")]


def public_members(kind: type) -> list[str]:
    """Return the public names that a class and its bases in this library define, parameters without a default aside."""
    names = {name for each in chain_of(kind) for name in vars(each)}
    return sorted(name for name in names if not name.startswith("_"))


if __name__ == "__main__":
    sys.exit(min(main("--check" in sys.argv), 1))
