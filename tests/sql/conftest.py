"""Databases for the tests: files of SQLite, and a PostgreSQL server of the run, where Debian's is installed."""

import glob
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import serving
from sql_statements import run

from penstock.io.databases import find_database

_number = itertools.count()
_QUIET = "-c listen_addresses= -c fsync=off -c full_page_writes=off -c synchronous_commit=off"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URI of a server that listens on a socket in a folder of its own."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    initdb = shutil.which("initdb") or (found[-1] if found else None)
    if initdb is None:
        pytest.skip("no PostgreSQL: tools/postgres.sh installs it")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # the name of a socket has at most 107 characters
    data, program = folder / "data", Path(initdb).resolve().parent / "postgres"
    user = _unprivileged(folder)
    subprocess.run(
        [initdb, "-D", data, "-U", "me", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"], check=True, **user
    )
    del user["stdout"]
    try:
        command = [program, "-D", data, "-k", folder, *_QUIET.split()]
        with serving(command, folder / "log", request=signal.SIGINT, **user) as server:
            server.says("(ready to accept connections)")
            yield f"postgresql://me@/postgres?host={folder}"
    finally:
        shutil.rmtree(folder)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Return how to start a process as a user that a server runs as, who then owns a folder: root may not run one."""
    quiet = {"stdout": subprocess.DEVNULL, "cwd": "/"}
    if os.getuid() != 0:
        return quiet
    names = {entry.pw_name for entry in pwd.getpwall()}
    entry = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    return {**quiet, "user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture
def postgresql(request: pytest.FixtureRequest) -> str:
    """The URI of an empty schema of the server."""
    uri, name = request.getfixturevalue("server"), f"test_{next(_number)}"
    run(find_database(uri), f"CREATE SCHEMA {name}")
    return f"{uri}&options=-csearch_path%3D{name}"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The URI of a file that is not there yet."""
    return f"sqlite:///{tmp_path}/shop.db"


@pytest.fixture
def duckdb(tmp_path: Path) -> str:
    """The URI of a file that is not there yet."""
    return f"duckdb:///{tmp_path}/shop.duckdb"


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.services)])
def uri(request: pytest.FixtureRequest) -> str:
    """The URI of an empty database of each kind."""
    return str(request.getfixturevalue(request.param))
