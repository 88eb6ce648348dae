"""What a stage learns: plain data that can be merged, stored, and used elsewhere."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import PenstockError
from penstock.engines.base import Engine
from penstock.pipeline.model import PipelineModel
from penstock.stages.base import Blob, Fitted, Stage
from penstock.testing import tables
from penstock.testing.cases import trains
from penstock.testing.compare import RTOL, demand, demand_alike, demand_equal
from penstock.testing.datasets import cut
from penstock.testing.trials import attempt, by_id, home, scattered, whole


def demand_plain(stage: Stage, fitted: Fitted) -> None:
    """Raise AssertionError unless a state is of finite numbers, strings, lists, dicts, tables and model files only."""
    problem = _foreign(dict(fitted), "state")
    demand(problem is None, f"{stage.title}: {problem}")


def _foreign(value: Any, place: str) -> str | None:
    if type(value) is dict:
        odd = [key for key in value if type(key) is not str]
        parts = ((f"{place}[{key!r}]", item) for key, item in value.items())
        found = (_foreign(item, there) for there, item in parts)
        return f"{place} has the key {odd[0]!r}" if odd else next((each for each in found if each), None)
    if type(value) in (list, tuple):
        return next((each for i, item in enumerate(value) if (each := _foreign(item, f"{place}[{i}]"))), None)
    if type(value) is float and not math.isfinite(value):
        return f"{place} is {value}, which is not finite"
    plain = value is None or type(value) in (bool, int, float, str, pa.Table, Blob)
    return None if plain else f"{place} is {value!r:.100} of {type(value).__module__}.{type(value).__qualname__}"


def check_state_has_its_shape(stage: Stage, engine: Engine) -> None:
    """Check that a stage of the library says what its state looks like, and that it is so, and no part is left out."""
    model, _ = whole(stage, engine, "ordinary").done()
    [bound], [fitted] = model.stages, model.fitted
    shape = bound.fitted_shape(model.schema, fitted)
    ours = type(stage).__module__.startswith("penstock.stages.")
    demand(
        shape is not None or not ours or not fitted, f"{stage.title} has no fitted_shape, and learned {list(fitted)}"
    )
    if shape is not None:
        shape.check(fitted, "")


def check_changed_state_scores_or_is_refused(stage: Stage, engine: Engine) -> None:
    """Check that a state of which a part was left out, or replaced, is refused by its shape, or is good to score by."""
    model, _ = whole(stage, engine, "ordinary").done()
    [bound], [fitted] = model.stages, model.fitted
    if bound.fitted_shape(model.schema, fitted) is None:
        return
    rows = cut(engine, tables.ordinary())
    for place, changed in changes(dict(fitted)):
        try:
            shape = bound.fitted_shape(model.schema, changed)
            assert shape is not None, "it had one"
            shape.check(changed, "")
        except Exception:  # whatever it raises refuses the model
            continue
        try:
            with np.errstate(all="ignore"):  # of numbers that no fit gives
                PipelineModel((bound,), (changed,), model.schema).transform(rows).to_arrow()
        except PenstockError:
            continue
        except Exception as error:
            raise AssertionError(f"{stage.title} cannot score with another {place}, which has its shape") from error


def check_saved_model_is_the_same(stage: Stage, engine: Engine) -> None:
    """Check that a model that was saved and loaded has the same stage, digest and output, to the bit."""
    model, output = whole(stage, engine, "ordinary").done()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        again = PipelineModel.load(path, stages={type(stage).__name__: type(stage)})
    demand(again.stages == model.stages, f"loaded is {again.stages}, expected {model.stages}")
    demand(again.digest == model.digest, f"the digest is {again.digest}, expected {model.digest}")
    made = again.transform(cut(engine, tables.ordinary())).to_arrow()
    demand_equal(made, output, f"the output of a loaded {stage.title}")


def check_fit_is_repeatable(stage: Stage, engine: Engine) -> None:
    """Check that fitting once more to the same fragments gives the same state, to the bit; a trainer too."""
    model, _ = whole(stage, engine, "ordinary").done()
    dataset = cut(engine, tables.ordinary())
    again, _ = attempt(stage, dataset).done()
    demand_equal(dict(again.fitted[0]), dict(model.fitted[0]), f"what {stage.title} learns the second time")


def check_scores_elsewhere(stage: Stage, engine: Engine) -> None:
    """Check that a model fitted on this engine gives the same without it, in this process and on a CPU."""
    trial = scattered(stage, engine, "ordinary")
    model, output = trial.done()
    made = model.transform(cut(home("cpu"), trial.given)).to_arrow()
    if engine.kind == "cpu":
        demand_equal(made, output, f"the output of {stage.title} in this process")
    elif trains(stage):
        outputs = list(stage.outputs())
        found, expected = (by_id(each).select(outputs) for each in (made, output))
        demand_alike(found, expected, f"the output of {stage.title} on a CPU", share=1e-5)
    else:
        demand_equal(by_id(made), by_id(output), f"the output of {stage.title} on a CPU", rtol=RTOL, atol=1e-15)


_OTHERS: tuple[Any, ...] = (None, True, -1, 0, 2**53 + 1, 10**30, 1e308, -0.0, "", "x", [], {}, [1] * 1000, {"x": 1})
_MOST = 3
"""Of a long list or dict only so many parts are changed: the others are like them."""


def changes(state: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield copies of a state with one change each, and the place of the change; model files are left alone.

    Examples
    --------
    >>> found = dict(changes({"mean": {"x": 1.5}}))
    >>> found["mean.x left out"], found["mean.x = 'x'"]
    ({'mean': {}}, {'mean': {'x': 'x'}})
    """
    yield from ((place, changed) for place, changed in _changed(state, "") if isinstance(changed, dict))


def _changed(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from _changed_items(dict(value), list(value)[:_MOST], place)
    elif isinstance(value, list | tuple):
        yield from _changed_items(list(value), list(range(len(value)))[:_MOST], place)
    elif isinstance(value, pa.Table):
        yield from ((f"{place}: {how}", table) for how, table in _changed_tables(value).items())
    if place and not isinstance(value, Blob):
        yield from ((f"{place} = {other!r:.20}", other) for other in _OTHERS)


def _changed_items(whole: Any, keys: list[Any], place: str) -> Iterator[tuple[str, Any]]:
    for key in keys:
        name = f"{place}.{key}" if place else str(key)
        for there, item in _changed(whole[key], name):
            copy = whole.copy()
            copy[key] = item
            yield there, copy
        copy = whole.copy()
        del copy[key]
        yield f"{name} left out", copy


def _changed_tables(table: pa.Table) -> dict[str, pa.Table]:
    names = table.column_names
    nulls = pa.table({name: pa.nulls(table.num_rows, table[name].type) for name in names})
    return {
        "null": nulls,
        "half": table.slice(0, table.num_rows // 2),
        "twice": pa.concat_tables([table, table]),
        "backwards": table.take(pa.array(range(table.num_rows)[::-1], pa.int64())),
        "numbers": pa.table({name: pa.array([1.5] * table.num_rows) for name in names}),
        "renamed": table.rename_columns(["zz", *names[1:]]),
        "no columns": table.select([]),
    }
