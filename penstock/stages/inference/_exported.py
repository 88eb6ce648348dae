"""Programs of ``torch.export``: read without what PyTorch's own loader does with such a file.

`torch.export.load` unpickles the example inputs (and unusual weights), evaluates the expressions of symbolic shapes as
Python, compiles stored guards and names, and looks operators up by any path that begins with ``torch``. A file from
someone else can so run code in several ways. Here only the graph and the raw bytes of the weights are read; what runs
of the graph, and how, is for `_program` to say.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import torch
from safetensors.torch import save as save_tensors
from torch import Tensor

from penstock.stages.inference._program import DTYPES, Program, known

_SCHEMA = 8
_CHECKS = re.compile(r"torch\.ops\.aten\.(_assert\w*|sym_constrain_range\w*)\.\w+")


def read_program(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the graph of a file of `torch.export.save`, as JSON values, and its weights as safetensors.

    Raises
    ------
    ValueError
        It is of another format or version, has more than one input or output, changes its weights as it runs, or has
        an operator or a weight that cannot be taken without running code.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name.partition("/")[2]: name for name in archive.namelist()}
        if "models/model.json" not in members:
            raise ValueError("it has no models/model.json, which torch.export.save writes since PyTorch 2.9")

        def read(name: str) -> bytes:
            if name not in members:
                raise ValueError(f"it has no {name}")
            return archive.read(members[name])

        program = json.loads(read("models/model.json"))
        if program["schema_version"]["major"] != _SCHEMA:
            raise ValueError(f"its schema is of version {program['schema_version']}, expected {_SCHEMA}")
        tensors = {
            kind: _tensors(read, kind, json.loads(read(f"data/{kind}/model_{kind}_config.json"))["config"])
            for kind in ("weights", "constants")
        }
    graph, held = _graph(program["graph_module"], {**tensors["constants"], **tensors["weights"]})
    Program(graph, held, torch.device("cpu"))  # which knows what may be in a graph
    return graph, save_tensors(held)


def _tensors(read: Callable[[str], bytes], kind: str, config: Mapping[str, Any]) -> dict[str, Tensor]:
    found = {}
    for name, entry in config.items():
        if entry["use_pickle"] or entry["tensor_meta"] is None:
            raise ValueError(f"{name!r} is stored as a pickle, as tensors of unusual kinds and objects are")
        found[name] = _tensor(read(f"data/{kind}/{entry['path_name']}"), entry["tensor_meta"])
    return found


def _tensor(raw: bytes, meta: Mapping[str, Any]) -> Tensor:
    """Return a tensor of its bytes, little-endian, with memory of its own."""
    dtype = known(DTYPES, meta["dtype"], "dtype")
    storage = torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    sizes, strides = ([size["as_int"] for size in meta[name]] for name in ("sizes", "strides"))
    return torch.as_strided(storage, sizes, strides, meta["storage_offset"]["as_int"]).clone().contiguous()


def _graph(module: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return what is kept of a graph, and the tensors that it uses, by their names in it."""
    inputs, held = [], {}
    for spec in module["signature"]["input_specs"]:
        ((kind, entry),) = spec.items()
        if kind == "user_input":
            inputs.append(entry["arg"].get("as_tensor", {}).get("name"))
        elif kind in ("parameter", "buffer", "tensor_constant"):
            held[entry["arg"]["name"]] = tensors[entry[f"{kind}_name"]]
        else:
            raise ValueError(f"it has an input of kind {kind!r}")
    outputs = [
        spec.get("user_output", {}).get("arg", {}).get("as_tensor") for spec in module["signature"]["output_specs"]
    ]
    if None in outputs:
        raise ValueError("it changes its buffers as it runs: call eval() on the module before it is exported")
    if len(inputs) != 1 or len(outputs) != 1 or inputs[0] is None:
        raise ValueError(f"it has {len(inputs)} input(s) and {len(outputs)} output(s), expected one tensor each")
    nodes = [
        {name: node[name] for name in ("target", "inputs", "outputs")}
        for node in module["graph"]["nodes"]
        if not _CHECKS.fullmatch(node["target"])
    ]
    sizes = [size.get("as_int") for size in module["graph"]["tensor_values"][inputs[0]]["sizes"]]
    return {"input": inputs[0], "takes": sizes, "nodes": nodes, "output": outputs[0]["name"]}, held
