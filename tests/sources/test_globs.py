"""What globs and directories stand for here: each file once, regular ones, and nothing is left out in silence."""

import glob
import os
import socket
import warnings
from pathlib import Path

import pytest

from penstock.errors import ConfigError, InputError
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.globs import match_local
from penstock.io.sources.paths import expand

SUFFIXES = (".pq",)


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())


def read(*paths: object, allow_unmanifested: bool = True) -> list[InputFile]:
    return expand([str(path) for path in paths], SUFFIXES, Storage(), allow_unmanifested=allow_unmanifested)


def names(files: list[InputFile], root: Path) -> list[str]:
    return [os.path.relpath(file.path, root) for file in files]


PATTERNS = (
    "*", "*.pq", "**/*.pq", "a/**/*.pq", "**/b/*.pq", "a/*/c.pq", "a/?/[cd].pq", "*/", "**/b/", "a/./*.pq",
    "a/../a/*.pq", "a//b/*", "[a]/b/**/*.pq", "**/**/d.pq", "no/*.pq", "*.pq/x", "a/b/c.pq*", "a[[]1]/*.pq",
)  # fmt: skip


def test_globs_match_what_they_match_in_the_standard_library(tmp_path, monkeypatch):
    make(tmp_path, "a/b/c.pq", "a/b/d.pq", "a/e.pq", "f.pq", "g.txt", "a/b/b/c.pq", "a[1]/h.pq", ".x/i.pq", "a/.j.pq")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.pq").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    for each in (*PATTERNS, *(f"{tmp_path}/{pattern}" for pattern in PATTERNS)):
        expected = {os.path.normpath(path) for path in glob.glob(each, recursive=True)}
        assert {os.path.normpath(path) for path in match_local(each)} == expected, each


def test_two_stars_at_the_end_are_the_files_below(tmp_path):
    make(tmp_path, "a.pq", "b/c.pq", "b/_d.pq", ".e/f.pq")
    assert names(read(tmp_path / "**"), tmp_path) == ["a.pq", "b/c.pq"]


def test_globs_leave_folders_of_unfinished_jobs_out_but_not_keys(tmp_path):
    make(tmp_path, "_temporary/0/a.pq", "_day=1/0/b.pq", "c/0/d.pq")
    for pattern in ("*/*/*.pq", "**/*.pq"):
        assert names(read(tmp_path / pattern), tmp_path) == ["_day=1/0/b.pq", "c/0/d.pq"]
    assert names(read(tmp_path / "_temporary/*/*.pq"), tmp_path) == ["_temporary/0/a.pq"]


def test_links_are_followed_but_not_in_circles(tmp_path):
    make(tmp_path, "a/b.pq", "a/c/d.pq", "elsewhere/e.pq")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "c" / "up").symlink_to(tmp_path / "a" / "c")
    (tmp_path / "a" / "more").symlink_to(tmp_path / "elsewhere")
    assert names(read(tmp_path / "a" / "**" / "*.pq"), tmp_path) == ["a/b.pq", "a/c/d.pq", "a/more/e.pq"]


def test_a_folder_that_may_not_be_listed_is_not_left_out(tmp_path, monkeypatch):
    make(tmp_path, "a/b.pq", "shut/c.pq")
    scandir = os.scandir

    def refuses(path: str) -> object:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuses)
    for path in (tmp_path / "*" / "*.pq", tmp_path / "**" / "*.pq", tmp_path):
        with pytest.raises(InputError, match="Permission denied"):
            read(path)


# Twice


TWICE = [
    ("a.pq", "a.pq"), ("a.pq", "./a.pq"), ("*.pq", "a*"), (".", "a.pq"), ("a.pq", "sub/../a.pq"), ("hard/*.pq", "a.pq"),
    ("a.pq", "soft.link"), ("linked/*.pq", "a.pq"), ("**/*",), ("sub", "linked"),
]  # fmt: skip


def test_one_file_under_two_names_is_refused_with_both(tmp_path, monkeypatch, subtests):
    make(tmp_path, "a.pq", "sub/b.pq")
    (tmp_path / "hard").mkdir()
    os.link(tmp_path / "a.pq", tmp_path / "hard" / "c.pq")
    (tmp_path / "soft.link").symlink_to("a.pq")
    monkeypatch.chdir(tmp_path)
    for paths in TWICE:
        (tmp_path / "linked").symlink_to(tmp_path if "a.pq" in paths else "sub")
        twice = pytest.raises(ConfigError, match=r"(is named twice|are one file), so that its rows would count twice")
        with subtests.test(paths=paths), warnings.catch_warnings(action="ignore"), twice:
            read(*paths)
        (tmp_path / "linked").unlink()


def test_whole_files_may_be_named_twice(tmp_path):
    make(tmp_path, "a.pq")
    paths = [str(tmp_path / "a.pq"), str(tmp_path / "*")]
    assert len(expand(paths, ("",), Storage(), whole_files=True)) == 2


# What is not read


def test_what_a_directory_holds_and_is_not_read_is_named_once(tmp_path):
    make(tmp_path / "d", "_SUCCESS", "a.pq", "B.PQ", "000000_0", ".a.pq.crc", "a.pq.crc", "_x/c.pq", ".y", "k=1/d.csv")
    make(tmp_path, "elsewhere/e.pq")
    (tmp_path / "d" / "linked").symlink_to(tmp_path / "elsewhere")
    listed = r"holds 4 .* that are not read: 000000_0, B.PQ, k=1/d.csv, linked \(a link to a folder\)\. .* end in \.pq"
    with pytest.warns(UserWarning, match=listed) as caught:
        assert names(read(tmp_path / "d", allow_unmanifested=False), tmp_path) == ["d/a.pq"]
    assert len(caught) == 1


def test_a_directory_that_holds_nothing_else_is_read_without_a_warning(tmp_path):
    make(tmp_path, "_SUCCESS", "a.pq", ".part.crc", "_metadata", "_committed_17", "k=1/b.pq")
    assert len(read(tmp_path)) == 2


# No regular files


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device"])
def test_what_is_no_regular_file_is_refused_before_it_is_opened(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    path = "d/a.pq"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
    else:
        Path(path).symlink_to(os.devnull)
    for each in (path, "d/*.pq", "**/*.pq", "d"):
        with pytest.raises(InputError, match=f"d/a.pq is {kind}, expected a file on disk") as caught:
            read(each)
        assert "Write it to a file first" in str(caught.value.hint)


def test_what_a_process_has_open_is_no_input(tmp_path):
    make(tmp_path, "a.pq")
    reading, writing = os.pipe()
    try:
        with pytest.raises(InputError, match=f"/dev/fd/{reading} is a pipe"):
            read(f"/dev/fd/{reading}")
        with open(tmp_path / "a.pq") as file:
            for path in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}", "/dev/stdin"):
                with pytest.raises(InputError, match="expected a file on disk"):
                    read(path)
    finally:
        os.close(reading)
        os.close(writing)


def test_a_file_whose_name_is_not_utf8_is_told_by_its_name(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pq")).write_bytes(b"x")
    for path in (tmp_path / "*.pq", tmp_path):
        with pytest.raises(ConfigError, match=r"caf\\xe9\.pq': its name is not UTF-8") as caught:
            read(path)
        str(caught.value).encode()
