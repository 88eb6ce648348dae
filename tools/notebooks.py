"""Write the notebooks as they are kept: without outputs, counts, and what editors note down; --check refuses others."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import nbformat

FOLDER = Path(__file__).parents[1] / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def kept(text: str) -> str:
    """Return a notebook as it is kept, with the cells and their ids as they are.

    Raises
    ------
    nbformat.ValidationError, Warning
        It is no valid notebook, or a cell has no id of its own.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of cells without an id, or with that of another
        book = nbformat.reads(text, as_version=4)
        nbformat.validate(book)
    for cell in book.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    book.metadata = METADATA
    return nbformat.writes(book) + "\n"


def main() -> int:
    """Write or check all notebooks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail when a notebook is not as it is kept"
    )
    check = parser.parse_args().check
    differing = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if (as_kept := kept(text)) != text:
            differing.append(path.name)
            if not check:
                path.write_text(as_kept, encoding="utf-8")
    if check and differing:
        print(f"{', '.join(differing)}: has outputs or notes of an editor; run: tools/notebooks.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
