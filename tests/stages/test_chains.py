"""How many classes a reader of a stage has to know: few, and what else it takes is composed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.frames import sparse
from penstock.stages.registry import discover
from penstock.testing import examples_of, tables

MOST = 5


@pytest.mark.parametrize("name", sorted(discover()))
def test_a_stage_has_at_most_five_classes_of_the_library_in_its_chain(name: str) -> None:
    chain = [each.__name__ for each in discover()[name].__mro__ if each.__module__.startswith("penstock")]
    assert len(chain) <= MOST, f"{name} is {' < '.join(chain)}"


def test_a_bound_stage_is_of_the_class_that_was_bound() -> None:
    schema = tables.ordinary().schema
    for name, kind in discover().items():
        for example in examples_of(kind):
            assert type(example.bind(schema)) is kind, name


def test_a_regression_trains_on_a_vector_and_not_on_numbers() -> None:
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64()), *sparse.fields(["v"]).items()])
    numbers, vector = (
        st.LinearRegression("y", features=names).bind(schema) for names in ("x", ("v_indices", "v_values"))
    )
    assert type(numbers) is type(vector) is st.LinearRegression
    assert not numbers.trains(schema)
    assert vector.trains(schema)
