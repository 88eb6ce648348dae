"""A new project: a pipeline that runs, its sample, a test, files for spark-submit and a DAG."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from jinja2 import Environment, StrictUndefined

from penstock.cli.projects.requests import NewProjectRequest
from penstock.cli.projects.results import NewProjectResult
from penstock.core.errors import ConfigError, OutputExistsError
from penstock.core.locations import local_path
from penstock.core.progress import Progress
from penstock.io.sinks.os_errors import translate_os_error

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SUFFIX = ".j2"


def new_project(request: NewProjectRequest, progress: Progress | None = None) -> NewProjectResult:
    """Write the files of a project, all of them or none.

    Raises
    ------
    ConfigError
        The name of the folder cannot be that of a module.
    OutputExistsError
        There is something in the folder.
    OutputError
        The files cannot be written.
    """
    folder = Path(local_path(request.folder, "folder"))
    name = folder.absolute().name
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"the project's name is {name!r}, expected lower-case letters, digits and underscores, a letter first",
            hint="Its first pipeline is a module of that name: penstock init my_project",
        )
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise OutputExistsError(f"{folder} is not empty", hint="Name a folder that is not there.", path=str(folder))
    try:
        written = _write(folder, name)
    except OSError as error:
        raise translate_os_error(error, str(folder)) from error
    run = [f"cd {request.folder}", "make run", "make test"]
    return NewProjectResult(folder=str(folder), files=written, next=run)


def _write(folder: Path, name: str) -> list[str]:
    """Write the files beside the folder, and move them there when they are whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        contents = dict(render_templates(name))
        for path, text in contents.items():
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            (staged / path).write_text(text, encoding="utf-8")
        staged.chmod(0o755)
        if folder.is_dir():
            folder.rmdir()
        staged.rename(folder)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return sorted(contents)


def render_templates(name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of a project of that name.

    Examples
    --------
    >>> dict(render_templates("demo"))["conf/pipelines/demo.yaml"].splitlines()[0]
    '# Parameters of pipelines/demo.py; `--set name=value` wins over these.'
    """
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    for path, template in _templates(files(__package__) / "templates", PurePosixPath()):
        target = str(path).removesuffix(_SUFFIX).replace("NAME", name)
        yield target, environment.from_string(template.read_text(encoding="utf-8")).render(name=name)


def _templates(folder: Traversable, below: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, below / entry.name)
        elif entry.name.endswith(_SUFFIX):
            yield below / entry.name, entry
