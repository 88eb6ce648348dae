"""What a run read and wrote, as datasets of OpenLineage with facets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    dataset_version_dataset,
    datasource_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    schema_dataset,
)

from penstock.integrations.openlineage.names import dataset_name, dataset_paths


def input_datasets(files: Sequence[Mapping[str, Any]], producer: str) -> list[InputDataset]:
    """Return the datasets of the files that a run read, with how many rows, bytes and files; a file counts once."""
    datasets = dataset_paths(str(file["path"]) for file in files)
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for file in files:
        found.setdefault(datasets[str(file["path"])], {})[str(file["path"])] = file
    return [_input(path, list(members.values()), producer) for path, members in found.items()]


def output_datasets(outputs: Sequence[Mapping[str, Any]], producer: str) -> list[OutputDataset]:
    """Return what a run wrote: rows, bytes and files, columns where they are known, and the digest of a model."""
    return [_output(output, producer) for output in outputs]


def _input(path: str, files: Sequence[Mapping[str, Any]], producer: str) -> InputDataset:
    namespace, name = dataset_name(path)
    statistics = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
        rowCount=_sum(files, "rows"), size=_sum(files, "bytes"), fileCount=len(files), producer=producer
    )
    facets = _facets(namespace, path, {}, producer)
    return InputDataset(namespace, name, facets=facets, inputFacets={"inputStatistics": statistics})


def _output(output: Mapping[str, Any], producer: str) -> OutputDataset:
    path = str(output["path"])
    namespace, name = dataset_name(path)
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=output.get("rows"), size=output.get("bytes"), fileCount=output.get("files"), producer=producer
    )
    facets = _facets(namespace, path, output, producer)
    return OutputDataset(namespace, name, facets=facets, outputFacets={"outputStatistics": statistics})


def _facets(namespace: str, path: str, facts: Mapping[str, Any], producer: str) -> dict[str, DatasetFacet]:
    facets: dict[str, DatasetFacet] = {
        "dataSource": datasource_dataset.DatasourceDatasetFacet(name=namespace, uri=path, producer=producer)
    }
    if facts.get("digest"):
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(str(facts["digest"]), producer=producer)
    if facts.get("columns"):
        fields = [schema_dataset.SchemaDatasetFacetFields(*column) for column in facts["columns"].items()]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields, producer=producer)
    return facets


def _sum(files: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """Return the sum of a number of files; None where it is not known of one."""
    values = [file.get(name, -1) for file in files]
    return None if min(values) < 0 else int(sum(values))
