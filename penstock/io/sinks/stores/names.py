"""The names of what a run puts into a store: parts at their final places, and what is there only while it works."""

from __future__ import annotations

import posixpath
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.io.sinks.files import MANIFEST_NAME
from penstock.io.sinks.staging import RUN_ID

CONTROL = ".penstock"
_PART = re.compile(rf"part-(?P<run>{RUN_ID})-\d{{5,}}(?:_\d{{5,}})?-[0-9a-f]{{8}}\.[A-Za-z0-9_.]+")
_FILES = re.compile(rf"files-(?P<run>{RUN_ID})-[0-9a-f]{{8}}")
_PLAIN = re.compile(r"part-(?P<number>\d{5,}(?:-\d{5,})?)(?P<suffix>\.[A-Za-z0-9_.]+)")


def new_token() -> str:
    """Return what makes a name the only one of its kind, also of runs that have one id."""
    return secrets.token_hex(4)


def name_in_run(name: str, run_id: str, token: str) -> str:
    """Return the name, which no other run or attempt has, under which a file of an output lies in a store.

    Parameters
    ----------
    name : str
        Of a part, or of a file whose name says what it is.
    run_id : str
    token : str
        Of the output, for files; each part has one of its own.

    Examples
    --------
    >>> name_in_run("state/0.json", "r1", "1a2b3c4d")
    'files-r1-1a2b3c4d/state/0.json'
    >>> name = name_in_run("day=1/part-r1-00003-00001.parquet", "r1", "1a2b3c4d")
    >>> name.startswith("day=1/part-r1-00003_00001-"), run_of(name)
    (True, 'r1')
    """
    folder, last = posixpath.split(name)
    match = _PLAIN.fullmatch(last.replace(f"part-{run_id}-", "part-", 1))
    if match is None:
        return f"files-{run_id}-{token}/{name}"
    number = match["number"].replace("-", "_")  # a run may end in one, and is told from it
    return posixpath.join(folder, f"part-{run_id}-{number}-{new_token()}{match['suffix']}")


def run_of(name: str) -> str | None:
    """Return the run that a file below an output belongs to, by its name; None for one that is not named so.

    Examples
    --------
    >>> [run_of(name) for name in ("part-00000.parquet", "part-m-00000.avro", "day=1/part-r1-00000-1a2b3c4d.parquet")]
    [None, None, 'r1']
    """
    match = _PART.fullmatch(posixpath.basename(name)) or _FILES.fullmatch(name.partition("/")[0])
    return match["run"] if match else None


def is_control(name: str) -> bool:
    """Return whether a file below an output is there only while a run works."""
    return name.startswith(f"{CONTROL}/") or name == f"{MANIFEST_NAME}.lock"


def of_others(names: Iterable[str]) -> set[str]:
    """Return the names that no run has put there."""
    return {name for name in names if name != MANIFEST_NAME and not is_control(name) and run_of(name) is None}


@dataclass(frozen=True)
class StoreTarget:
    """An output in a store.

    Parameters
    ----------
    path : str
        Within the store.
    is_file : bool
        Whether it is one object; else it is a folder with a manifest.
    """

    path: str
    is_file: bool = False

    @property
    def head(self) -> str:
        """The object whose replacement is the commit."""
        return self.path if self.is_file else f"{self.path}/{MANIFEST_NAME}"

    @property
    def control(self) -> str:
        """The folder of what is there only while runs work."""
        folder, name = posixpath.split(self.path)
        return f"{folder}/{CONTROL}-{name}" if self.is_file else f"{self.path}/{CONTROL}"

    @property
    def lock(self) -> str:
        """What the run whose intent is carried out has here; the same object for every run."""
        return f"{self.control}/commit-lock"

    def owner(self, run_id: str) -> str:
        """Return the path of the record of who runs; it is there before and after all else of that run."""
        return f"{self.control}/{run_id}.owner"

    def sealed(self, run_id: str) -> str:
        """Return the path of what the head is to be."""
        return f"{self.control}/{run_id}.sealed"

    def intent(self, run_id: str) -> str:
        """Return the path of what the run is about to put where; only beside the first of its targets."""
        return f"{self.control}/{run_id}.intent"

    def encode(self) -> str:
        """Return it as text: folders end in a slash."""
        return self.path if self.is_file else f"{self.path}/"

    @classmethod
    def decode(cls, text: str) -> StoreTarget:
        """Return the target that `encode` made a text of."""
        return cls(text.rstrip("/"), is_file=not text.endswith("/"))
