"""Fingerprints: equal for equal values in any process, and different for all others."""

import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.dataset.state_cache.fingerprints import NoFingerprintError, fingerprint
from penstock.statistics import Moments, Quantiles

DIFFERENT = [
    None, True, 1, 1.0, "1", b"1", float("inf"), [], {}, [1], [[1]], [1, [2]], [[1], 2], {"a": 1}, {"a": 2}, {"b": 1},
    {1}, {1, 2}, np.arange(3), np.arange(3.0), np.arange(4).reshape(2, 2), pa.int64(), pa.int32(), nw.Int64, nw.Int32,
    nw.Datetime("us"), nw.Datetime("ms"), pa.schema({"a": pa.int64()}), pa.schema({"b": pa.int64()}),
    pa.table({"a": [1]}), pa.table({"a": [2]}), nw.col("x"), nw.col("y"), nw.col("x") + 1, nw.col("x") - 1,
    nw.col("x") + 2, nw.col("x") + nw.col("y"), nw.col("x").is_in([1, 2]), nw.col("x").is_in([1, 3]),
    nw.when(nw.col("x") > 1).then(2).otherwise(3), nw.when(nw.col("x") > 1).then(2).otherwise(4),
    Moments(("x",)), Moments(("y",)), Quantiles(("x",)),
    st.Clip("x", lower=0), st.Clip("x", lower=1), st.Clip("x", upper=1),
]  # fmt: skip


def test_no_two_values_have_one_fingerprint() -> None:
    assert len({fingerprint(value) for value in DIFFERENT}) == len(DIFFERENT)
    assert fingerprint("a", "b") != fingerprint("ab") != fingerprint(["a", "b"])


@pytest.mark.thorough
def test_another_process_gives_the_same() -> None:
    code = (
        "import narwhals as nw, pyarrow as pa;"
        "from penstock import stages as st; from penstock.dataset.state_cache.fingerprints import fingerprint;"
        "print(fingerprint({'a', 'b', 'c'}, nw.col('x') > 1.5, st.Clip('x', lower=0), pa.table({'a': ['x', None]})))"
    )
    values = {"a", "b", "c"}, nw.col("x") > 1.5, st.Clip("x", lower=0), pa.table({"a": ["x", None]})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == [fingerprint(*values)]


def test_the_code_of_a_class_of_ones_own_counts(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    prints = []
    for body in ("x * 2", "x * 3"):
        (tmp_path / "own_module.py").write_text(
            "from dataclasses import dataclass\n\n@dataclass\nclass Own:\n    a: int = 1\n"
            f"    def f(self, x): return {body}\n"
        )
        sys.modules.pop("own_module", None)
        module = __import__("own_module")
        prints.append(fingerprint(module.Own()))
    sys.modules.pop("own_module", None)
    assert prints[0] != prints[1]


@dataclass
class Holding:
    value: object


def test_what_cannot_be_compared_is_refused() -> None:
    for value in (len, lambda x: x, object(), np.array([object()]), Holding(print), [open]):
        with pytest.raises(NoFingerprintError):
            fingerprint(value)


def test_a_class_without_a_file_is_refused(monkeypatch) -> None:
    module = ModuleType("typed_in_a_console")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("from dataclasses import dataclass\n@dataclass\nclass Own:\n    a: int = 1\n", vars(module))
    with pytest.raises(NoFingerprintError, match="the code of which cannot be read"):
        fingerprint(module.Own())
