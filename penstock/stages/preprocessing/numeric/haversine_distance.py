"""The distance between two places on earth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.core.schemas import require
from penstock.stages.base import Fitted, RowFunction, Stage, Tags, check_types, name_taken, with_fields
from penstock.stages.number_columns import values_of, with_results
from penstock.stages.parameter_checks import one_of, wrong_parameter
from penstock.statistics.aggregates import aggregate

_RADIUS = {"km": 6371.0088, "m": 6371008.8, "mi": 6371.0088 / 1.609344}
_HALF_DEGREE = math.pi / 360
_LATITUDES, _LONGITUDES = (-90.0, 90.0), (-180.0, 360.0)


@dataclass(frozen=True)
class HaversineDistance(Stage):
    """Adds a column (float64) with the great-circle distance between two places, on a sphere of earth's mean radius.

    Parameters
    ----------
    latitude, longitude : str
        Columns of numbers: degrees of one place, north and east positive.
    other_latitude, other_longitude : str
        Those of the other.
    output_column : str, default="distance"
        Name of the new column.
    unit : {"km", "m", "mi"}, default="km"
        Kilometres, metres or international miles.

    Raises
    ------
    ConfigError
        The unit is not known, the output has no name, or the data has a column of that name.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: latitudes outside -90 to 90, or longitudes outside -180 to 360 (both ways of counting are taken);
        column, count, first file and row are named.

    Notes
    -----
    The haversine formula, ``2 * r * arcsin(sqrt(sin(dlat / 2)**2 + cos(lat1) * cos(lat2) * sin(dlon / 2)**2))``: R. W.
    Sinnott, "Virtues of the haversine", Sky and Telescope 68, 1984. It is exact to rounding for places that are close;
    where they are opposite, to about 1e-8 of the distance. The radius is 6371.0088 km, the mean radius R1 of H. Moritz,
    "Geodetic Reference System 1980", Journal of Geodesy 74, 2000. The earth is no sphere: distances on its ellipsoid
    differ by up to 0.6 percent. Null where one of the four is null. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"lat": [52.52, 0.0], "lon": [13.405, 0.0], "lat2": [48.8566, None], "lon2": [2.3522, 0.0]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> made = ps.Pipeline(st.HaversineDistance("lat", "lon", "lat2", "lon2")).fit(data).transform(data)
    >>> made.to_polars()["distance"].round(2).to_list()
    [877.46, None]
    """

    latitude: str
    longitude: str
    other_latitude: str
    other_longitude: str
    _: KW_ONLY
    output_column: str = "distance"
    unit: str = field(default="km", metadata=one_of(*_RADIUS))

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.output_column:
            raise wrong_parameter(self, "output_column", "a name")

    def bind(self, schema: pa.Schema) -> Self:
        """Check that the columns are there, and numeric."""
        require(schema, self.inputs(), stage=self.title)
        check_types(self, schema, self.inputs())
        if self.output_column in schema.names:
            raise name_taken(self.title, self.output_column, "Pass another output_column.")
        return self

    def inputs(self) -> tuple[str, ...]:
        """Return the four columns, each once."""
        return tuple(dict.fromkeys(name for name, _ in self._places()))

    def _places(self) -> tuple[tuple[str, tuple[float, float]], ...]:
        """Return the columns, and between which degrees they are."""
        return (
            (self.latitude, _LATITUDES),
            (self.longitude, _LONGITUDES),
            (self.other_latitude, _LATITUDES),
            (self.other_longitude, _LONGITUDES),
        )

    def outputs(self) -> tuple[str, ...]:
        """Return the distance."""
        return (self.output_column,)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the distance at its end."""
        return with_fields(schema, {self.output_column: pa.float64()})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Check all degrees in one select, then compute."""
        outside = {place: _outside(*place).sum() for place in self._places()}
        for (name, ends), count in aggregate(frame, outside).items():
            if count:
                raise self._error(name, ends, count)
        distance = _distance([values_of(frame, name) for name, _ in self._places()], _RADIUS[self.unit])
        return with_results(frame, {self.output_column: distance})

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Compute one row."""
        places, radius = self._places(), _RADIUS[self.unit]

        def call(row: dict[str, Any]) -> None:
            values = [None if row[name] is None else float(row[name]) for name, _ in places]
            for value, (name, ends) in zip(values, places, strict=True):
                if value is not None and not ends[0] <= value <= ends[1]:
                    raise self._error(name, ends, 1)
            row[self.output_column] = None if None in values else float(_distance(values, radius))

        return call

    def _error(self, name: str, ends: tuple[float, float], count: int) -> DataValueError:
        kind = "latitudes" if ends == _LATITUDES else "longitudes"
        return DataValueError(
            f"column {name!r} has {count} values that are no {kind}, expected degrees from {ends[0]:g} to {ends[1]:g}",
            hint="Are latitude and longitude in each other's place, or in radians? Otherwise filter these rows.",
            column=name,
            predicate=_outside(name, ends),
        )


def _outside(name: str, ends: tuple[float, float]) -> nw.Expr:
    degrees = nw.col(name).cast(nw.Float64)
    return (degrees < ends[0]) | (degrees > ends[1])


def _distance(places: Sequence[Any], radius: float) -> Any:
    """Return the distance for four arrays, or numbers, in the order of the parameters; equal to the bit.

    Degrees are subtracted before they are made radians: the difference of two that are close is exact.
    """
    latitude, longitude, other_latitude, other_longitude = places
    north, east = (
        np.sin((there - here) * _HALF_DEGREE)
        for here, there in ((latitude, other_latitude), (longitude, other_longitude))
    )
    shrinking = np.cos(np.radians(latitude)) * np.cos(np.radians(other_latitude))
    return 2 * radius * np.arcsin(np.sqrt(np.minimum(north * north + shrinking * (east * east), 1.0)))
