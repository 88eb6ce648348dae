"""Which pipelines and ETL jobs a project has, read from their source: nothing of the user's runs."""

from __future__ import annotations

import ast
from pathlib import Path

from penstock.cli.projects.requests import ListPipelinesRequest
from penstock.cli.projects.results import ListedPipeline, ListPipelinesResult
from penstock.core.errors import ConfigError
from penstock.core.locations import local_path
from penstock.core.progress import Progress


def list_pipelines(request: ListPipelinesRequest, progress: Progress | None = None) -> ListPipelinesResult:
    """Return the modules of the folder, by name; ConfigError if there is no such folder."""
    folder = Path(local_path(request.pipelines, "pipelines"))
    if not folder.is_dir():
        raise ConfigError(
            f"{folder} is no folder",
            hint="Run it where pipelines/ is, or name the folder with --pipelines; penstock init makes a project.",
            path=str(folder),
        )
    modules = [_listed(path) for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    return ListPipelinesResult(folder=str(folder), pipelines=modules)


def _listed(path: Path) -> ListedPipeline:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError) as error:
        return ListedPipeline(name=path.stem, kind="module", summary=f"cannot be read: {error}")
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    kind = "pipeline" if "build" in defined else "etl" if "run" in defined else "module"
    return ListedPipeline(name=path.stem, kind=kind, summary=(ast.get_docstring(tree) or "").partition("\n")[0])
