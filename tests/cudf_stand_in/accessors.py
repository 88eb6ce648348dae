"""What a column of texts, times, lists or categories has under ``str``, ``dt``, ``list`` and ``cat``."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import casts
from cudf_stand_in.dtypes import arrow_type, dtype_of
from cudf_stand_in.index import unlabelled
from cudf_stand_in.spec import Checked


class _Accessor(Checked):
    def __init__(self, parent: Any) -> None:
        self._series = parent

    @property
    def _values(self) -> pa.Array:
        return self._series._values

    def _like(self, values: pa.Array) -> Any:
        return self._series._like(values)


class StringMethods(_Accessor, owner="cudf.core.accessors.string.StringMethods"):
    def __init__(self, parent: Any) -> None:
        if not pa.types.is_string(parent._values.type):
            raise AttributeError("Can only use .str accessor with string values")
        super().__init__(parent)

    def len(self) -> Any:
        return self._like(pc.utf8_length(self._values))

    def lower(self) -> Any:
        return self._like(pc.utf8_lower(self._values))

    def upper(self) -> Any:
        return self._like(pc.utf8_upper(self._values))

    def strip(self, to_strip: str | None = None) -> Any:
        stripped = pc.utf8_trim_whitespace(self._values) if to_strip is None else pc.utf8_trim(self._values, to_strip)
        return self._like(stripped)

    def startswith(self, pat: str) -> Any:
        return self._like(pc.starts_with(self._values, pat))

    def endswith(self, pat: str) -> Any:
        return self._like(pc.ends_with(self._values, pat))

    def contains(self, pat: str, regex: bool = True) -> Any:
        return self._like((pc.match_substring_regex if regex else pc.match_substring)(self._values, pat))

    def replace(self, pat: str, repl: str, n: int = -1, regex: bool = False) -> Any:
        function = pc.replace_substring_regex if regex else pc.replace_substring
        return self._like(function(self._values, pat, repl, max_replacements=n))

    def slice(self, start: int | None = None, stop: int | None = None, step: int | None = None) -> Any:
        return self._like(pc.utf8_slice_codeunits(self._values, start or 0, stop, step or 1))


class DatetimeProperties(_Accessor, owner="cudf.core.series.DatetimeProperties"):
    """Parts of times, each in the time of its zone."""

    def _part(self, name: str) -> Any:
        return self._like(getattr(pc, name)(self._local()).cast(pa.int16()))

    def _local(self) -> pa.Array:
        return pc.local_timestamp(self._values) if self._values.type.tz else self._values

    @property
    def year(self) -> Any:
        return self._part("year")

    @property
    def month(self) -> Any:
        return self._part("month")

    @property
    def day(self) -> Any:
        return self._part("day")

    @property
    def hour(self) -> Any:
        return self._part("hour")

    @property
    def minute(self) -> Any:
        return self._part("minute")

    @property
    def second(self) -> Any:
        return self._part("second")

    @property
    def microsecond(self) -> Any:
        parts = pc.add(pc.multiply(pc.millisecond(self._values), 1000), pc.microsecond(self._values))
        return self._like(parts.cast(pa.int32()))

    @property
    def weekday(self) -> Any:
        return self._part("day_of_week")

    @property
    def day_of_year(self) -> Any:
        return self._part("day_of_year")

    def tz_localize(self, tz: str | None) -> Any:
        return self._like(self._local() if tz is None else pc.assume_timezone(self._local(), tz))

    def tz_convert(self, tz: str | None) -> Any:
        return self._like(self._values.cast(pa.timestamp(self._values.type.unit, tz)))


class ListMethods(_Accessor, owner="cudf.core.accessors.lists.ListMethods"):
    def __init__(self, parent: Any) -> None:
        if not pa.types.is_list(parent._values.type):
            found = dtype_of(parent._values.type)
            raise AttributeError(f"Can only use the '.list' accessor with 'list[pyarrow]' dtype, not {found}.")
        super().__init__(parent)

    def __getitem__(self, key: int) -> Any:
        return self.get(key)

    def get(self, index: int) -> Any:
        """Return the element at a place of each list, null where there is none."""
        lists = self._values.to_pylist()
        found = [each[index] if each is not None and -len(each) <= index < len(each) else None for each in lists]
        return self._like(pa.array(found, self._values.type.value_type))

    def len(self) -> Any:
        return self._like(pc.list_value_length(self._values))

    @property
    def leaves(self) -> Any:
        values = self._values
        while pa.types.is_list(values.type):
            values = values.flatten()
        return self._series._of(values, unlabelled(len(values)), self._series.name)


class CategoricalAccessor(_Accessor, owner="cudf.core.accessors.categorical.CategoricalAccessor"):
    """Codes, which a cast to categories has computed."""

    def __init__(self, parent: Any) -> None:
        if not hasattr(parent, "_category"):
            raise AttributeError("Can only use .cat accessor with a 'category' dtype")
        super().__init__(parent)

    @property
    def codes(self) -> Any:
        """Return int8 where there are few categories."""
        count = len(self._series._category._categories)
        kind = next(kind for kind in ("int8", "int16", "int32") if count < np.iinfo(kind).max)
        return self._series._of(casts.cast(self._values, arrow_type(kind)), self._series._index, None)
