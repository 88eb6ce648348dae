"""spark-submit with the Spark and the Python of this environment, and a Java that works.

``python -m penstock.engines.spark.submit [options of spark-submit] jobs/fit.py ...``, or ``./spark-submit.sh ...``.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from penstock.core.errors import MissingExtraError, MissingInputError, PenstockError
from penstock.core.extras import how_to_install
from penstock.engines.spark.java import find_java
from penstock.io.sinks import TemporaryFolder


def submit(arguments: Sequence[str]) -> int:
    """Run spark-submit and return its exit code; SIGINT and SIGTERM reach all of its processes.

    Unless the master is known to be on this machine, from the options, ``--properties-file`` or
    ``spark-defaults.conf``, Penstock travels to executors as a zip beside the ``--py-files`` given; what it imports has
    to be installed there.

    Parameters
    ----------
    arguments : sequence of str
        Those of spark-submit: its options, a Python file, and what that takes.

    Raises
    ------
    MissingExtraError, ConfigError
        There is no Spark, or no Java that it runs on.
    MissingInputError
        There is no file of the name that ``--properties-file`` gives.
    """
    home = spark_home(os.environ)
    options = SparkOptions.of(arguments, home, os.environ)
    local = master_of(options, os.environ).startswith("local")
    with TemporaryFolder() as folder:
        shipped = [] if local else ["--py-files", _joined(zipped(folder.path), options)]
        command = [str(home / "bin" / "spark-submit"), *options.before, *shipped, *options.application]
        return _run(command, {**os.environ, **variables(home, local=local, environ=os.environ)})


def spark_home(environ: Mapping[str, str]) -> Path:
    """Return the Spark of ``SPARK_HOME``, or the one inside the installed PySpark; nothing is imported."""
    if home := environ.get("SPARK_HOME"):
        return Path(home)
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MissingExtraError("PySpark is not installed", hint=how_to_install("spark"))
    return Path(spec.origin).parent


def master_of(options: SparkOptions, environ: Mapping[str, str]) -> str:
    """Return the master that Spark will take; one that it does not say is ``local[*]``, and ``--remote`` is none."""
    named = options.get("--master", "spark.master") or environ.get("MASTER", "")
    return named or options.get("--remote", "spark.remote") or environ.get("SPARK_REMOTE", "") or "local[*]"


def variables(home: Path, *, local: bool, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what spark-submit has to find in its environment: this Python, a Java, loopback on this machine."""
    python = environ.get("PYSPARK_PYTHON", sys.executable)
    found = {"SPARK_HOME": str(home), "JAVA_HOME": str(find_java(environ))}
    found["PYSPARK_DRIVER_PYTHON"] = environ.get("PYSPARK_DRIVER_PYTHON", python)
    return found | {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"} if local else found


def zipped(folder: Path) -> Path:
    """Return a new zip of the package as it is installed, its templates and styles too."""
    package = Path(__file__).parents[2]
    path = folder / "penstock.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*")):
            if file.is_file() and file.parent.name != "__pycache__":
                archive.write(file, file.relative_to(package.parent))
    return path


def _joined(path: Path, options: SparkOptions) -> str:
    """Return the zip and the user's own ``--py-files``: of two such options Spark takes the last alone."""
    return ",".join(filter(None, [str(path), options.get("--py-files", "spark.submit.pyFiles")]))


def _run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    processes: list[subprocess.Popen[bytes]] = []
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for process in processes:
            os.killpg(process.pid, number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        processes.append(subprocess.Popen(command, env=environ, start_new_session=True))
        for number in received:  # before there was a process to pass them on to
            os.killpg(processes[0].pid, number)
        code = processes[0].wait()
        return code if code >= 0 else 128 - code
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_SWITCHES = frozenset(
    {"--help", "-h", "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v", "--version"}
)
_SHORT = {"-c": "--conf"}


@dataclass(frozen=True)
class SparkOptions:
    """The arguments of spark-submit, and the properties behind them.

    Attributes
    ----------
    before : tuple of str
        The arguments before the application: options of spark-submit.
    application : tuple of str
        The file and what it takes.
    values : mapping of str to str
        Options by their long names; of one given twice the last.
    properties : mapping of str to str
        ``--conf`` over ``--properties-file``, or ``spark-defaults.conf`` where that is not given.
    """

    before: tuple[str, ...]
    application: tuple[str, ...]
    values: Mapping[str, str]
    properties: Mapping[str, str]

    @classmethod
    def of(cls, arguments: Sequence[str], home: Path, environ: Mapping[str, str]) -> SparkOptions:
        """Read the arguments, and the files that they and the variables name.

        Raises
        ------
        MissingInputError
            There is no file of that name.
        """
        pairs, end = _parse(arguments)
        values = dict(pairs)
        settings = dict(text.partition("=")[::2] for option, text in pairs if option == "--conf")
        files = _files(values, home, environ, defaults_too="--load-spark-defaults" in arguments[:end])
        properties = {name: value for file in files for name, value in read_properties(file).items()} | settings
        return cls(tuple(arguments[:end]), tuple(arguments[end:]), values, properties)

    def get(self, option: str, name: str) -> str:
        """Return the value of an option, or else of a property; empty where neither is set."""
        return self.values.get(option) or self.properties.get(name, "")


def _parse(arguments: Sequence[str]) -> tuple[list[tuple[str, str]], int]:
    """Return the options with their values, and the place of the application, which is the first that is no option."""
    pairs, place = [], 0
    while place < len(arguments) and arguments[place].startswith("-"):
        option, assigned, value = arguments[place].partition("=")
        place += 1
        if not assigned and option not in _SWITCHES:
            value = arguments[place] if place < len(arguments) else ""
            place += 1
        pairs.append((_SHORT.get(option, option), value))
    return pairs, min(place, len(arguments))


def _files(values: Mapping[str, str], home: Path, environ: Mapping[str, str], *, defaults_too: bool) -> list[Path]:
    """Return the files of properties; what a later one sets wins."""
    folder = Path(environ.get("SPARK_CONF_DIR") or home / "conf")
    defaults = [path for path in [folder / "spark-defaults.conf"] if path.is_file()]
    if not (name := values.get("--properties-file")):
        return defaults
    if not Path(name).is_file():
        raise MissingInputError(f"--properties-file is {name!r}, and there is no such file", path=name)
    return [*(defaults if defaults_too else []), Path(name)]


def read_properties(path: Path) -> dict[str, str]:
    """Return what a file of Java properties sets, one setting a line, as Spark's own files are written."""
    lines = (line.strip() for line in path.read_text("utf-8", errors="replace").splitlines())
    split = (re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {name: value for name, *rest in split for value in rest or [""]}


if __name__ == "__main__":
    try:
        sys.exit(submit(sys.argv[1:]))
    except PenstockError as error:
        sys.exit(f"{type(error).__name__}: {error}")
