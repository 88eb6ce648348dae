"""A store of the tests on a disk, which processes share, and which fails when a test says so."""

from collections.abc import Callable
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.local import LocalFileSystem


class Shelf(LocalFileSystem):
    """Files under ``shelf:///path``; `fail` is called with a number and a name before each request."""

    protocol = "shelf"
    fail: ClassVar[Callable[[int, str], None] | None] = None
    requests: ClassVar[int] = 0

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        return "/" + str(path).removeprefix("shelf://").strip("/")

    def unstrip_protocol(self, name: str) -> str:
        return f"shelf://{self._strip_protocol(name)}"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        self._request("pipe_file")
        super().pipe_file(path, value, mode, **options)

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        with open(lpath, "rb") as file:
            content = file.read()
        try:
            self._request("put_file")
        except OSError:
            super().pipe_file(rpath, content[: len(content) // 2])  # what a store may show of an upload that is cut off
            raise
        super().pipe_file(rpath, content)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> Any:
        self._request("cat_file")
        return super().cat_file(path, start, end, **options)

    def find(self, path: str, **options: Any) -> Any:
        self._request("find")
        return super().find(path, **options)

    def rm_file(self, path: str) -> None:
        self._request("rm_file")
        super().rm_file(path)

    @classmethod
    def _request(cls, name: str) -> None:
        cls.requests += 1
        if cls.fail is not None:
            cls.fail(cls.requests, name)


def register() -> None:
    """Make fsspec know it."""
    fsspec.register_implementation("shelf", Shelf, clobber=True)
