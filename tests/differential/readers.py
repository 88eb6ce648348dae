"""Ways to the same file: by path and by URL, from this machine and from a store, checked or not, cut here or there."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
from hypothesis import strategies as st

from penstock.dataset import Dataset

Read = Callable[..., Dataset]
WAYS = ("path", "path, cut", "file:// URL", "list", "glob", "directory", "store", "store, cut")
SOME_WAYS = st.builds(
    lambda cut, others: list(dict.fromkeys((cut, *others))),
    st.sampled_from(["path, cut", "store, cut"]),
    st.lists(st.sampled_from(WAYS), min_size=2, max_size=2),
)


def emptied(folder: Path) -> Path:
    """Return a folder that holds nothing, so that to read it is to read what is put there."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    return folder


def put(folder: Path, name: str, content: bytes) -> Path:
    """Write the only file of a folder."""
    path = emptied(folder) / name
    path.write_bytes(content)
    return path


def ways_to(read: Read, path: Path, size: int, chosen: list[str], **options: Any) -> dict[str, Callable[[], Dataset]]:
    """Return ways to read one file; `size` is that of small fragments."""
    store = f"memory://{path.name}"
    fsspec.filesystem("memory").pipe_file(f"/{path.name}", path.read_bytes())
    ways: dict[str, tuple[Any, dict[str, Any]]] = {
        "path": (path, {}),
        "path, cut": (path, {"fragment_bytes": size}),
        "file:// URL": (path.as_uri(), {}),
        "list": ([path], {}),
        "glob": (f"{path.parent}/*{path.name[1:]}", {}),
        "directory": (path.parent, {"allow_unmanifested": True}),
        "store": (store, {}),
        "store, cut": (store, {"fragment_bytes": size}),
    }
    return {way: partial(read, ways[way][0], **options, **ways[way][1]) for way in chosen}
