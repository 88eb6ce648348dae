"""A stand-in for cuDF, CuPy and pylibcudf on a machine without a GPU: Arrow and NumPy compute.

Names and parameters are those of the real libraries (``spec.json``, which ``tools/cudf_spec.py`` writes), and Narwhals
takes it for cuDF, so that its own branches for cuDF run. What cuDF refuses is refused, and where it answers otherwise
than Arrow or Polars, so does this: null or true is null, a text that is null everywhere is unequal to all, small
integers are divided in float32. What is not here raises NotImplementedError.

It shows neither kernels nor the memory of a device, nor the order of additions, nor how Dask or XGBoost run on one.
"""

from types import ModuleType

import pandas as pd

from cudf_stand_in import array_functions, pylibcudf
from cudf_stand_in.combining import FUNCTIONS
from cudf_stand_in.dtypes import CategoricalDtype, Decimal128Dtype, ListDtype, StructDtype
from cudf_stand_in.frame import DataFrame
from cudf_stand_in.index import Index
from cudf_stand_in.series import Series
from cudf_stand_in.spec import VERSION

CLASSES = (CategoricalDtype, DataFrame, Decimal128Dtype, Index, ListDtype, Series, StructDtype)


def modules() -> dict[str, ModuleType]:
    """Return what is to stand in `sys.modules` for the real libraries."""
    cudf = ModuleType("cudf")
    cudf.__dict__.update(FUNCTIONS, __version__=VERSION, NA=pd.NA, **{each.__name__: each for each in CLASSES})
    return {"cudf": cudf, **array_functions.modules(), **pylibcudf.modules()}
