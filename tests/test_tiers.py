"""Tiers and lanes: tests left out by --fast and marks, and rows of products."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from covering import covering

pytest_plugins = "pytester"

MARKED = """
import pytest

def test_plain(): ...

def test_here(local): ...

def test_engine(engine): ...

def test_cluster(distributed_engine): ...

@pytest.mark.slow
def test_slow(): ...

@pytest.mark.thorough
def test_thorough(): ...

@pytest.mark.parametrize("place", ["disk", pytest.param("s3", marks=pytest.mark.services)])
def test_store(place): ...

@pytest.mark.faults
def test_kill(): ...

@pytest.mark.stand_in
def test_device(): ...

@pytest.mark.spark
def test_spark(): ...

@pytest.mark.dask
def test_dask(): ...
"""
PRODUCT = """
import pytest

@pytest.mark.MARK
@pytest.mark.parametrize("a", [0, 1, 2])
@pytest.mark.parametrize("b, c", [(0, 0), (1, 1)])
@pytest.mark.parametrize("d", [0, 1])
@pytest.mark.parametrize("e", [0, 1])
def test_product(a, b, c, d, e): ...
"""
OTHER = """
import pytest

@pytest.mark.parametrize("a", [0, 1])
def test_other(a): ...
"""
JOINT = """
import pytest

@pytest.mark.parametrize(("a", "b"), [(0, None), (0, True), (1, True), (1, None)])
def test_joint(a, b): ...
"""
ABOVE_ENGINES = """
import pytest

@pytest.mark.one_cluster
@pytest.mark.parametrize("a", range(4))
def test_rows(engine, a): ...

@pytest.mark.one_cluster
def test_alone(distributed_engine): ...
"""
OPTIONS = [
    "", "--fast", "--products", "--engines local", "--engines dask", "--engines flink", "--fast --engines dask",
]  # fmt: skip
COLLECT = """
import contextlib, io, json, sys
import pytest

quiet = ("-p", "no:randomly", "-p", "no:cacheprovider", "--collect-only", "-q")
found = {}
for options in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        code = pytest.main([*quiet, *options.split()])
    found[options] = (code, said.getvalue())
json.dump(found, sys.stdout)
"""
FILES = {
    "marked": MARKED,
    **{mark: PRODUCT.replace("MARK", mark) for mark in ("pairwise", "each_value", "exhaustive")},
    "unmarked": PRODUCT.replace("@pytest.mark.MARK\n", ""),
    "other": OTHER,
    "joint": JOINT,
    "above": ABOVE_ENGINES,
}
SHARED = """
import os, pathlib, pytest

def note(what):
    with open(pathlib.Path(__file__).with_name("processes"), "a") as file:
        print(what, os.getpid(), file=file)

@pytest.mark.parametrize("a", range(4))
def test_of_a_module(a): note(__name__)

@pytest.mark.xdist_group("some_stage")
@pytest.mark.parametrize("a", range(4))
def test_of_a_group(a): note("group")

@pytest.mark.xdist_group("some_stage")
@pytest.mark.dask
def test_of_a_group_on_dask(): note("dask")

@pytest.mark.dask
def test_of_dask(): note("dask")

@pytest.mark.spark
@pytest.mark.dask
def test_of_both(): note("spark")

@pytest.fixture
def spark(): ...

def test_of_spark(spark): note("spark")

@pytest.fixture
def distributed_engine(request): return request.param

def test_on(distributed_engine): note(f"on_{distributed_engine}")
"""
LOCAL = ["test_plain", "test_here", "test_engine[local]", "test_store[disk]"]
MARKS = ["test_slow", "test_thorough", "test_spark", "test_dask", "test_store[s3]", "test_kill", "test_device"]
CLUSTERS = ["test_engine[dask]", "test_engine[spark]", "test_cluster[dask]", "test_cluster[spark]"]


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """A function that returns the tests of a file that are collected with some options; one process collects all."""
    folder = tmp_path_factory.mktemp("tiers")
    configure(folder)
    for name, code in FILES.items():
        (folder / f"test_{name}.py").write_text(code)

    done = subprocess.run(
        [sys.executable, "-c", COLLECT],
        input=json.dumps(OPTIONS),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)

    def collected_of(name: str, *options: str) -> list[str]:
        (code, said), file = found[" ".join(options)], f"test_{name}.py::"
        assert code == 0, said
        return [line.removeprefix(file) for line in sorted(said.splitlines()) if line.startswith(file)]

    return collected_of


def configure(folder: Path) -> None:
    """Give the tests of a folder this suite's conftest and marks."""
    names = "slow thorough pairwise each_value one_cluster exhaustive spark dask faults services stand_in"
    marks = "\n".join(f"    {name}" for name in names.split())
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {Path(__file__).parent}\nmarkers =\n{marks}")
    (folder / "conftest.py").write_text(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8"))


@pytest.mark.thorough
def test_the_fast_tier_is_what_is_not_marked_on_the_local_engine(collected):
    assert collected("marked", "--fast") == sorted(LOCAL)


def test_the_whole_suite_is_everything_on_every_engine(collected):
    assert collected("marked") == sorted(LOCAL + MARKS + CLUSTERS)


@pytest.mark.thorough
def test_on_the_local_engine_alone_no_test_asks_for_a_cluster(collected):
    assert collected("marked", "--engines", "local") == sorted(LOCAL + MARKS)


@pytest.mark.thorough
def test_the_fast_tier_may_be_asked_for_on_an_engine(collected):
    assert collected("marked", "--fast", "--engines", "dask") == sorted(
        ["test_plain", "test_here", "test_store[disk]", "test_engine[dask]", "test_cluster[dask]", "test_dask"]
    )


@pytest.mark.thorough
def test_an_engine_that_is_not_known_is_refused(collected):
    with pytest.raises(AssertionError, match="flink is not one of local, dask"):
        collected("marked", "--engines", "flink")


def test_of_a_marked_product_every_pair_of_values_is_tried(collected):
    some, every = collected("pairwise"), collected("pairwise", "--products")
    assert len(some) <= 8 < len(every) == 24
    assert pairs(some) == pairs(every)


def pairs(names: list[str]) -> set[tuple[tuple[int, str], ...]]:
    rows = [name.removeprefix("test_product[").removesuffix("]").split("-") for name in names]
    return {pair for row in rows for pair in itertools.combinations(enumerate(row), 2)}


def test_what_is_exhaustive_is_tried_only_with_all_products(collected):
    assert (len(collected("exhaustive")), len(collected("exhaustive", "--products"))) == (0, 24)


def test_of_any_product_the_fast_tier_tries_every_value(collected):
    some, every = collected("unmarked", "--fast"), collected("unmarked")
    assert len(some) == 3 < len(every) == 24
    assert values(some) == values(every)


@pytest.mark.thorough
def test_of_a_product_so_marked_every_value_is_tried(collected):
    some, every = collected("each_value"), collected("each_value", "--products")
    assert len(some) == 3 < len(every) == 24
    assert values(some) == values(every)


@pytest.mark.thorough
def test_parameters_that_are_given_together_are_no_product(collected):
    assert len(collected("joint", "--fast")) == 4


@pytest.mark.thorough
def test_clusters_share_the_rows_of_a_test_that_says_nothing_of_an_engine(collected):
    engines = {"local": [], "dask": [], "spark": []}
    rows, alone = of_rows_and_alone(collected("above"))
    for name in rows:
        engine, row = name.removeprefix("test_rows[").removesuffix("]").split("-")
        engines[engine].append(row)
    assert engines["local"] == ["0", "1", "2", "3"] == sorted(engines["dask"] + engines["spark"])
    assert (len(engines["dask"]), len(engines["spark"])) == (2, 2)
    assert len(alone) == 1
    assert [len(names) for names in of_rows_and_alone(collected("above", "--products"))] == [12, 2]
    assert [len(names) for names in of_rows_and_alone(collected("above", "--engines", "dask"))] == [4, 1]


def of_rows_and_alone(names: list[str]) -> list[list[str]]:
    return [[name for name in names if name.startswith(test)] for test in ("test_rows", "test_alone")]


@pytest.mark.parametrize("together", [1, 2])
def test_no_row_is_left_out_that_alone_has_a_value(together):
    rows = [{"a": place, "b": place} for place in range(5)]
    assert covering(rows, together) == list(range(5))


def values(names: list[str]) -> set[tuple[int, str]]:
    return {value for pair in pairs(names) for value in pair}


def test_tests_that_are_not_marked_are_left_whole(collected):
    assert collected("other") == ["test_other[0]", "test_other[1]"]


@pytest.mark.thorough
def test_one_process_runs_the_tests_of_a_cluster_a_group_or_a_module(pytester):
    configure(pytester.path)
    pytester.makepyfile(test_one=SHARED, test_other=SHARED)
    done = pytester.runpytest_subprocess("-n", "2", "--dist", "loadgroup", "test_one.py", "test_other.py")
    done.assert_outcomes(passed=28)
    notes = set((pytester.path / "processes").read_text().splitlines())
    names = ["dask", "group", "on_dask", "on_spark", "spark", "test_one", "test_other"]
    assert sorted(note.split()[0] for note in notes) == names
    processes = dict(note.split() for note in notes)
    assert processes["dask"] == processes["on_dask"]


SLOW = """
import time

def test_parts(subtests):
    for seconds in (0.6, 0.6, 30.0, 31.0):
        with subtests.test(seconds=seconds):
            time.sleep(seconds)
"""


@pytest.mark.faults
def test_each_sub_test_has_the_time_limit_of_a_test(pytester):
    configure(pytester.path)
    pytester.makepyfile(SLOW)
    done = pytester.runpytest_subprocess("--timeout", "1")
    done.stdout.fnmatch_lines(["contains 2 failed subtests", "SUBFAILED(seconds=30.0)*", "SUBFAILED(seconds=31.0)*"])
