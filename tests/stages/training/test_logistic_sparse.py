"""Logistic regression on sparse vectors: the model of the dense columns, and never a dense matrix."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from class_scores import scored
from vector_rows import FEATURES, MATRIX, NUMBERS, ROWS, SIZE, VECTOR, WEIGHT, X, dataset, draw, lists

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.exact.sums import Split
from penstock.stages.training.linear._sparse_design import add_by_column

TIGHT = {"tol": 1e-10, "max_iter": 2000}
PENALTIES = [(0.02, 0.0), (0.02, 1.0), (0.05, 0.5)]
DRAW = draw()
SCORE = MATRIX @ DRAW.normal(size=SIZE) + 5 * X[:, 0] + DRAW.logistic(size=ROWS)


def labels(classes: int) -> np.ndarray:
    return np.digitize(SCORE, np.linspace(-1, 1, classes - 1) if classes > 2 else [0.4])


def table(classes: int = 2, **more: Any) -> pa.Table:
    return pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **lists(MATRIX), "label": labels(classes), **more})


def stage(features: tuple[str, ...] = VECTOR, **options: Any) -> st.LogisticRegression:
    return st.LogisticRegression("label", features=features, **{**TIGHT, **options})


def coefficients(model: PipelineModel, numbers: tuple[str, ...] = ()) -> np.ndarray:
    """Return the coefficients of numbers, and of all indices of the vector, one row an output."""
    fitted = model.fitted[-1]
    held = fitted["vector_coefficients"]
    found = np.zeros((len(fitted["intercepts"]), SIZE))
    found[:, held["index"].to_numpy()] = [held[str(place)].to_numpy() for place in range(len(found))]
    plain = [fitted["coefficients"][name].to_numpy()[:, None] for name in numbers]
    return np.concatenate([*plain, found], axis=1)


# The dense columns, which are held to MLlib: the same objective, whose minimum both find to their tolerance


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_the_model_is_that_of_dense_columns(local: Engine, subtests: Any, classes: int) -> None:
    columns = {f"f{place:02}": MATRIX[:, [place]].toarray()[:, 0] for place in range(SIZE)}
    wide = pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **columns, "label": labels(classes), "w": WEIGHT})
    for place, (reg_param, l1_ratio) in enumerate([*PENALTIES, PENALTIES[0]]):
        options = {
            "reg_param": reg_param, "elastic_net_param": l1_ratio, "standardization": (place + classes) % 2 == 0,
            "fit_intercept": place in (0, 2), "weight": "w",
        }  # fmt: skip
        with subtests.test(**options):
            rows, data = dataset(local, wide, 80_000), dataset(local, table(classes, w=WEIGHT))
            model = Pipeline(stage((*NUMBERS, *columns), **options)).fit(rows)
            dense, learned = model.fitted[0], Pipeline(stage(FEATURES, **options)).fit(data)
            expected = np.array([dense["coefficients"][name].to_numpy() for name in (*NUMBERS, *columns)]).T
            assert learned.fitted[0]["converged"]
            found = learned.fitted[0]["objective_history"]
            assert found[0] == pytest.approx(dense["objective_history"][0], rel=1e-12)
            assert found[-1] == pytest.approx(dense["objective_history"][-1], rel=1e-12)
            # Gradients are below 1e-10 and the Hessian, in standardised features, is above the penalty's 0.02 / 3**2.
            scale = np.append(X.std(axis=0), np.ones(SIZE))
            np.testing.assert_allclose(coefficients(learned, NUMBERS) * scale, expected * scale, atol=1e-7)
            np.testing.assert_allclose(learned.fitted[0]["intercepts"], dense["intercepts"], atol=1e-5)
            for ours, theirs in zip(scored(learned, data), scored(model, rows), strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-5)


# Sums


def test_sums_by_column_are_equal_to_the_bit_in_any_order() -> None:
    rows, draw = 3000, np.random.default_rng(3)
    x = scipy.sparse.random(rows, 5, 0.6, format="csr", random_state=1)
    terms = draw.normal(size=x.nnz) * 10.0 ** draw.integers(-12, 3, x.nnz)
    split = Split.of(np.abs(terms).max(keepdims=True), rows)
    whole, shuffled, order = np.zeros((2, 5)), np.zeros((2, 5)), draw.permutation(rows)
    add_by_column(split, x, terms.copy(), whole)
    numbered = scipy.sparse.csr_matrix((np.arange(float(x.nnz)), x.indices, x.indptr), shape=x.shape)
    for part in np.array_split(order, 7):
        chosen = numbered[part]
        add_by_column(split, chosen, terms[chosen.data.astype(int)], shuffled)
    np.testing.assert_array_equal(shuffled, whole)
