"""spark-submit with the Spark and the Python of this environment, and a Java that works.

``python -m penstock.engines.spark_submit [options of spark-submit] jobs/fit.py ...``, or ``./spark-submit.sh ...``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import penstock
from penstock.engines.spark_java import find_java
from penstock.errors import ConfigError, MissingExtraError
from penstock.outputs import TemporaryFolder


def submit(arguments: Sequence[str]) -> int:
    """Run spark-submit and return its exit code; SIGINT and SIGTERM reach all of its processes.

    To executors on other machines Penstock travels as a zip; what it imports has to be installed there.

    Parameters
    ----------
    arguments : sequence of str
        Those of spark-submit: its options, a Python file, and what that takes.

    Raises
    ------
    MissingExtraError, ConfigError
        There is no Spark, or no Java that it runs on.
    """
    with TemporaryFolder() as folder:
        home = spark_home(os.environ)
        local = master_of(arguments).startswith("local")
        shipped = [] if local else ["--py-files", str(_zipped(folder.path))]
        command = [str(home / "bin" / "spark-submit"), *shipped, *arguments]
        return _run(command, {**os.environ, **variables(home, local=local, environ=os.environ)})


def spark_home(environ: Mapping[str, str]) -> Path:
    """Return the Spark of ``SPARK_HOME``, or the one inside the installed PySpark; nothing is imported."""
    if home := environ.get("SPARK_HOME"):
        return Path(home)
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MissingExtraError("PySpark is not installed", hint="pip install 'penstock[spark]'")
    return Path(spec.origin).parent


def master_of(arguments: Sequence[str]) -> str:
    """Return the master that the options before the Python file name; Spark's own default is ``local[*]``.

    Examples
    --------
    >>> master_of(["--master", "yarn", "jobs/fit.py"]), master_of(["jobs/fit.py", "clicks", "--master=x"])
    ('yarn', 'local[*]')
    """
    file = next((place for place, text in enumerate(arguments) if text.endswith(".py")), len(arguments))
    options = list(arguments[:file])
    for place, option in enumerate(options):
        if option == "--master" and place + 1 < len(options):
            return options[place + 1]
        for prefix in ("--master=", "spark.master="):
            if option.startswith(prefix):
                return option.removeprefix(prefix)
    return "local[*]"


def variables(home: Path, *, local: bool, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what spark-submit has to find in its environment: this Python, a Java, loopback on this machine."""
    python = environ.get("PYSPARK_PYTHON", sys.executable)
    found = {"SPARK_HOME": str(home), "JAVA_HOME": str(find_java(environ))}
    found["PYSPARK_DRIVER_PYTHON"] = environ.get("PYSPARK_DRIVER_PYTHON", python)
    return found | {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"} if local else found


def _zipped(folder: Path) -> Path:
    package = Path(penstock.__file__).parent
    path = folder / "penstock.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*.py")):
            archive.write(file, file.relative_to(package.parent))
    return path


def _run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    process = subprocess.Popen(command, env=environ, start_new_session=True)

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.killpg(process.pid, number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = process.wait()
        return code if code >= 0 else 128 - code
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    try:
        sys.exit(submit(sys.argv[1:]))
    except ConfigError as error:
        sys.exit(f"{type(error).__name__}: {error}")
