"""Places that outputs are written to: a disk, a store in memory, and S3 as moto serves it, once a run."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import pytest
from servers import serving

from tests.stores.shelf import Shelf, register

BUCKET = "penstock-tests"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of the account that every Azurite has; it is in its documentation."""


SERVED = (
    pytest.param("s3", marks=pytest.mark.services),
    pytest.param("azure", marks=[pytest.mark.services, pytest.mark.thorough]),
)
"""Stores that a server of another product has."""


@dataclass(frozen=True)
class Place:
    """An empty folder that outputs are written to.

    ``url`` is its path or its URL; ``options`` are what fsspec needs.
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def at(self, name: str) -> str:
        return f"{self.url}/{name}"

    def files(self) -> dict[str, int]:
        """Return the files that lie there, with their sizes."""
        filesystem, root = self._filesystem()
        filesystem.invalidate_cache()
        root = root.rstrip("/")
        found = filesystem.find(root, detail=True) if filesystem.exists(root) else {}
        return {name.removeprefix(f"{root}/"): info["size"] for name, info in found.items()}

    def read(self, name: str) -> bytes:
        filesystem, root = self._filesystem()
        content: bytes = filesystem.cat_file(f"{root}/{name}")
        return content

    def put(self, name: str, content: bytes) -> None:
        filesystem, root = self._filesystem()
        if not self.options:
            filesystem.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
        filesystem.pipe_file(f"{root}/{name}", content)

    def remove(self, name: str) -> None:
        filesystem, root = self._filesystem()
        filesystem.rm_file(f"{root}/{name}")

    def _filesystem(self) -> tuple[Any, str]:
        found: tuple[Any, str] = fsspec.core.url_to_fs(self.url, **self.options)
        return found


@pytest.fixture(scope="session")
def s3_options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What fsspec needs for a server of S3 on loopback that has an empty bucket."""
    pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with serving(command, tmp_path_factory.mktemp("s3") / "log") as server:
        endpoint = server.says(r"Running on (http://\S+)")
        options = {
            "key": "tests",
            "secret": "hunter2-of-the-tests",
            "client_kwargs": {"endpoint_url": endpoint, "region_name": "us-east-1"},
        }
        fsspec.filesystem("s3", **options).call_s3("create_bucket", Bucket=BUCKET)
        yield options


@pytest.fixture(scope="session")
def azure_options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What fsspec needs for Azurite on loopback, with an empty container; it is a program of npm's."""
    pytest.importorskip("adlfs")
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("no Azurite: npm install -g azurite")
    command = [program, "--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", "0", "--skipApiVersionCheck"]
    command += ["--disableTelemetry"]
    with serving(command, tmp_path_factory.mktemp("azure") / "log") as server:
        endpoint = server.says(r"listens? on (http://[\d.:]+)")
        account = f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={AZURITE_KEY}"
        options = {"connection_string": f"{account};BlobEndpoint={endpoint}/devstoreaccount1;"}
        fsspec.filesystem("abfs", **options).mkdir(BUCKET)
        yield options


@pytest.fixture
def azure(azure_options: dict[str, Any]) -> Place:
    return Place(f"abfs://{BUCKET}/{uuid4().hex}", azure_options)


@pytest.fixture
def s3(s3_options: dict[str, Any]) -> Place:
    return Place(f"s3://{BUCKET}/{uuid4().hex}", s3_options)


@pytest.fixture
def memory() -> Iterator[Place]:
    name = uuid4().hex
    yield Place(f"memory://{name}")
    filesystem = fsspec.filesystem("memory")
    if filesystem.exists(f"/{name}"):
        filesystem.rm(f"/{name}", recursive=True)


@pytest.fixture(params=["memory", SERVED[0]])
def memory_or_s3(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def disk(tmp_path: Path) -> Place:
    return Place(str(tmp_path))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Place]:
    """A store whose files other processes see, and which fails as `Shelf.fail` says."""
    register()
    yield Place(f"shelf://{tmp_path}")
    Shelf.fail, Shelf.requests = None, 0


@pytest.fixture(params=["disk", "memory", *SERVED])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["memory", *SERVED])
def store(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found
