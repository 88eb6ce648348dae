"""Engines and devices as parameters: a test that asks for `engine` runs on each, and they are started once a run."""

import gc
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from covering import covering
from durations import Durations
from hypothesis import settings
from scheduling import BySetup, name_groups
from timed_subtests import TimedSubtests

from penstock import devices
from penstock.devices.threads import PATIENT
from penstock.engines.base import Engine
from penstock.engines.spark.java import find_java
from penstock.errors import ConfigError

ENGINES = ("local", "dask", "spark")
NOT_FAST = {"slow", "thorough", "faults", "services", "stand_in"}
"""Marks of tests that --fast leaves out, as it does clusters."""

ABOVE_ENGINES = {
    "counting", "drift", "folds", "rowwise", "rules", "search", "stages", "stat", "state_cache", "statistics",
    "test_column_names.py", "test_describe.py", "test_describe_fully.py", "test_faults.py", "test_fills.py",
    "test_lags.py", "test_real_data.py", "test_refit.py", "test_refit_append.py",
    "test_refit_warm.py",
}  # fmt: skip
"""Folders and files that ask what is made of an engine's maps and reductions: clusters share what they ask of them.
That those give on each cluster what they give in this process is for ``engines`` and ``conformance`` to ask."""

settings.register_profile("any machine", deadline=None)  # timings are not asserted, and machines are shared
settings.load_profile("any machine")


_LOOKS = ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables that decide how text for a terminal looks; CI services and terminals set some of them."""


_UNWATCHED = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
}
"""Settings of Dask without its samples of stacks and systems, a hundred a second of each worker, idle or not."""

_PATIENT = {**PATIENT, **_UNWATCHED, "OPENBLAS_THREAD_TIMEOUT": "4", "PENSTOCK_RUNS": "none"}
"""Threads that wait for each other sleep, those of OpenBLAS after 2**4 cycles: tests share cores with each other and
with clusters. So do those of the processes that tests start. No job leaves a record beside the checkout's pipelines."""


_ALONE = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""With --fast a process has a core, and its libraries no threads to wake for a few rows; the whole suite has them."""


_QUICK_JAVA = Path(__file__).parent / "quick_java"
"""A home of Java in which JVMs start quickly: a JVM of tests ends before it has compiled what it runs."""


def pytest_configure(config: pytest.Config) -> None:
    variables = _PATIENT | (_ALONE if config.option.fast else {})
    os.environ.update({name: value for name, value in variables.items() if name not in os.environ})
    for name in _LOOKS:
        os.environ.pop(name, None)
    if config.option.engines is None:
        config.option.engines = "local" if config.option.fast else ",".join(ENGINES)
    if "spark" in config.option.engines and os.environ.get("JAVA_HOME") != str(_QUICK_JAVA):
        with suppress(ConfigError):  # there is none, as the tests of Spark will say
            os.environ |= {"JAVA_OF_TESTS": str(find_java() / "bin" / "java"), "JAVA_HOME": str(_QUICK_JAVA)}
    if (path := config.option.durations_to) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(path))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engines", help="engines to run on, by comma; all, unless --fast")
    parser.addoption("--connect", action="store_true", help="the engine on Spark in a session of Spark Connect")
    parser.addoption("--products", action="store_true", help="all of the products of which marked tests run a part")
    parser.addoption("--fast", action="store_true", help="the local engine, what is telling, and nothing that is slow")
    parser.addoption("--durations-to", type=Path, metavar="FILE", help="write the seconds of each test there, as JSON")
    parser.addoption("--device", default="cpu", choices=("cpu", "gpu"), help="where partitions are processed")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `engine` each in turn, and to `distributed_engine` all but the local one."""
    for fixture, left_out in (("engine", ()), ("distributed_engine", ("local",))):
        if fixture in metafunc.fixturenames:
            names = [name for name in _engines(metafunc.config) if name not in left_out]
            metafunc.parametrize(fixture, [pytest.param(name, marks=_MARKS[name]) for name in names], indirect=True)


_MARKS: dict[str, list[pytest.MarkDecorator]] = {"local": [], "dask": [pytest.mark.dask], "spark": [pytest.mark.spark]}


def _engines(config: pytest.Config) -> list[str]:
    names = config.getoption("--engines").split(",")
    unknown = set(names) - set(ENGINES)
    if unknown:
        raise pytest.UsageError(f"--engines: {', '.join(sorted(unknown))} is not one of {', '.join(ENGINES)}")
    return names


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what the mark `cpu` says cannot be so on a GPU, and leave out what --fast and --engines do not ask for."""
    _mark_above_engines(items)
    asked = [item for item in items if not _is_left_out(item, config)]
    if not config.getoption("--products"):
        asked = _on_one_cluster(_without_products(asked, config.getoption("--fast")))
    left = {id(item) for item in asked}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in left])
    items[:] = asked
    if getattr(config.option, "loadgroup", False):  # a process of xdist's
        name_groups(items)
    if config.getoption("--device") == "gpu":
        for item in items:
            if (mark := item.get_closest_marker("cpu")) is not None:
                item.add_marker(pytest.mark.skip(*mark.args, **mark.kwargs))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return BySetup(config, log) if config.getvalue("dist") == "loadgroup" else None


def _is_left_out(item: pytest.Item, config: pytest.Config) -> bool:
    engines = _engines(config)
    if item.get_closest_marker("exhaustive") and not config.getoption("--products"):
        return True
    if engines == ["local"] and "distributed_engine" in getattr(item, "fixturenames", ()):
        return True
    return config.getoption("--fast") and any(item.get_closest_marker(m) for m in {*NOT_FAST, *ENGINES} - {*engines})


def _without_products(items: list[pytest.Item], fast: bool) -> list[pytest.Item]:
    """Leave out, of products that are marked or if `fast` of all, the rows that add no value, or pair of values."""
    products: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and _together(item, fast):
            products.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = set[int]()
    for rows in products.values():
        chosen = covering([_values(row) for row in rows], _together(rows[0], fast))
        left_out |= {id(item) for item in rows} - {id(rows[place]) for place in chosen}
    return [item for item in items if id(item) not in left_out]


def _on_one_cluster(items: list[pytest.Item]) -> list[pytest.Item]:
    """Leave to one cluster, in turn, each row of a test that says nothing of an engine."""
    rows: dict[str, dict[Any, list[pytest.Item]]] = {}
    for item in sorted(items, key=lambda item: item.nodeid):
        if _cluster(item) and item.get_closest_marker("one_cluster"):
            others = {name: value for name, value in _values(item).items() if name not in _OF_CLUSTERS}
            same = rows.setdefault(item.nodeid.partition("[")[0], {})
            same.setdefault(tuple(sorted(others.items())), []).append(item)
    left_out = set[int]()
    for test, shared in rows.items():
        for place, same in enumerate(shared.values(), start=zlib.crc32(test.encode())):
            left_out |= {id(item) for item in same} - {id(same[place % len(same)])}
    return [item for item in items if id(item) not in left_out]


_OF_CLUSTERS = ("engine", "distributed_engine")


def _cluster(item: pytest.Item) -> str | None:
    """Return the cluster that a test has as a parameter."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return next((params[name] for name in _OF_CLUSTERS if params.get(name, "local") != "local"), None)


def _mark_above_engines(items: list[pytest.Item]) -> None:
    for item in items:
        if _cluster(item) and item.path.relative_to(Path(__file__).parent).parts[0] in ABOVE_ENGINES:
            item.add_marker("one_cluster")


def _together(item: pytest.Item, fast: bool) -> int:
    """Return of how many parameters the values have to occur together; 0 where all rows are asked for."""
    if fast or item.get_closest_marker("each_value"):
        return 1
    return 2 if item.get_closest_marker("pairwise") else 0


def _values(item: Any) -> dict[str, tuple[int, ...]]:
    """Return which objects the parameters are, one entry for those given together: rows of a product share theirs."""
    params, values = dict(item.callspec.params), {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].replace(",", " ").split() if isinstance(mark.args[0], str) else mark.args[0]
        values[" ".join(names)] = tuple(id(params.pop(name)) for name in names)
    return values | {name: (id(value),) for name, value in params.items()}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop before the first test when a GPU is asked for and there is none; leave to the end what kills workers.

    Those that come after import all libraries again, a few seconds each.

    Thousands of tests and the libraries that they import are there to the end: the collector need not look at them
    again and again.
    """
    session.items.sort(key=_kills_workers)
    gc.collect()
    gc.freeze()
    if session.config.getoption("--device") == "gpu" and not session.config.getoption("--collect-only"):
        try:
            devices.choose("gpu")
        except ConfigError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


def _kills_workers(item: pytest.Item) -> bool:
    return "distributed_engine" in getattr(item, "fixturenames", ()) and item.get_closest_marker("slow") is not None


class Engines:
    """Starts each engine when it is first asked for, and keeps it for the run."""

    def __init__(self, device: str, *, connect: bool = False) -> None:
        self._device, self._connect = device, connect
        self._started: dict[str, Engine] = {}

    def get(self, name: str) -> Engine:
        if name not in self._started:
            self._started[name] = getattr(self, f"_{name}")()
        return self._started[name]

    def _local(self) -> Engine:
        from penstock.engines.local import LocalEngine

        return LocalEngine(device=self._device)

    def _dask(self) -> Engine:
        from penstock.engines.dask import DaskEngine

        # Tests count what is read, and on a full machine any task is slow: second attempts have tests of their own.
        if self._device == "gpu":  # as many workers as there are GPUs
            return DaskEngine({"class": "dask_cuda.LocalCUDACluster"}, device="gpu", speculation=False)
        spec = {"class": "distributed.LocalCluster", "arguments": {"n_workers": 2, "threads_per_worker": 1}}
        return DaskEngine(spec, device=self._device, speculation=False)

    def _spark(self) -> Engine:
        from penstock.engines.spark import SparkEngine

        if self._connect:
            os.environ["SPARK_TESTING"] = "1"  # the server takes any free port, and the client asks for it
        where = "spark.remote" if self._connect else "spark.master"
        few = {"spark.sql.shuffle.partitions": "3"}  # a task costs more than the rows of a test
        # What Spark compiles for a query costs more than its rows; it holds its expressions to be the same either way.
        few |= {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
        # One retry shows as much as three, and each costs a second: a new Python worker.
        return SparkEngine(conf={where: "local[2,2]", **few}, device=self._device)

    def close(self) -> None:
        for engine in self._started.values():
            engine.close()


@pytest.fixture(scope="session")
def engines(request: pytest.FixtureRequest) -> Iterator[Engines]:
    started = Engines(request.config.getoption("--device"), connect=request.config.getoption("--connect"))
    yield started
    started.close()


@pytest.fixture
def engine(request: pytest.FixtureRequest, engines: Engines) -> Engine:
    return engines.get(request.param)


@pytest.fixture
def distributed_engine(request: pytest.FixtureRequest, engines: Engines) -> Engine:
    return engines.get(request.param)


@pytest.fixture
def engine_notes(distributed_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `distributed_engine` notes while the test runs: that a training starts again, say."""
    notes: list[str] = []
    monkeypatch.setattr(distributed_engine.progress, "note", notes.append)
    return notes


@pytest.fixture
def subtests(request: pytest.FixtureRequest, subtests: pytest.Subtests) -> TimedSubtests:
    """pytest's sub-tests, each within the time limit of a test."""
    return TimedSubtests(request, subtests)


@pytest.fixture
def local(engines: Engines) -> Engine:
    return engines.get("local")


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, engines: Engines) -> Any:
    """The Spark session of the run, for comparisons with MLlib."""
    if "spark" not in request.config.getoption("--engines"):
        pytest.skip("spark is not among --engines")
    return engines.get("spark").session


@pytest.fixture
def hide_modules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function after which packages cannot be imported, whatever is installed and was imported before.

    Its submodules go with it: of ``a.b`` an import takes what `sys.modules` has, without a look at ``a``.
    """

    def hide(*packages: str) -> None:
        for package in packages:
            for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
                monkeypatch.setitem(sys.modules, name, None)

    return hide


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data that may lie beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("there is no real data beside the checkout")
    return folder
