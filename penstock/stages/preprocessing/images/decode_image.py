"""Images from bytes to the numbers that networks take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import CorruptFileError, SchemaError
from penstock.core.extras import importing
from penstock.core.schemas import require
from penstock.dataset.quarantine import check_names, set_aside
from penstock.dataset.steps import RowLog
from penstock.frames import ROW, matrices
from penstock.stages.base import Fitted, Tags, check_number, check_types, with_fields
from penstock.stages.parameter_checks import in_range, one_of, wrong_parameter
from penstock.stages.preprocessing._dropping import FilterStage

if TYPE_CHECKING:
    from penstock.stages.preprocessing.images._pillow import Decoder

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
"""Mean and deviation of the channels of ImageNet, in [0, 1], as networks trained on it expect them."""
_CHANNELS = {"RGB": 3, "L": 1}
_TAGS = {
    "quarantine": Tags(keeps_rows=False, accepts="binary", numbers_rows=True),
    "error": Tags(accepts="binary", numbers_rows=True),
    "null": Tags(accepts="binary"),
}


@dataclass(frozen=True)
class DecodeImage(FilterStage):
    """Decodes images, brings them to one size, and normalises them: a column of lists for a network to take.

    Each pixel becomes ``(value * scale - mean) / std``, in float32. The list of a row has the numbers of shape
    (channels, height, width) in C order.

    Parameters
    ----------
    column : str, default="content"
        Binary: BMP, GIF, JPEG, PNG, PPM, TIFF or WebP files. Of several frames the first is taken, and the image is
        turned as its EXIF data says.
    output_column : str, default="image"
    size : (int, int), default=(224, 224)
        Height and width.
    mode : {"RGB", "L"}
        Three channels, or one of grey.
    resize : {"crop", "stretch"}
        Keep proportions and cut out the centre, or do not. Bilinear, over all pixels that a new one covers.
    short_side : int, optional
        With "crop": what the shorter side is scaled to before, not less than `size`; 256 for 224 with networks of
        torchvision. Unless given, the image is scaled to just cover `size`.
    scale : float, default=1/255
    mean, std : float or tuple of float, optional
        Of each channel, after `scale`; 0 and 1, unless given. Those of ImageNet are `IMAGENET_MEAN`, `IMAGENET_STD`.
    on_error : {"quarantine", "error", "null"}
        What to do with what cannot be decoded. Quarantined rows are written beside the output by ``write_parquet``,
        with a reason, and dropped elsewhere; both are counted.
    path : str, optional
        A column that names the image, for errors and the quarantine; ``path`` where the data has one.
    max_pixels : int, default=89478485
        What has more is not decoded: a small file may hold an image that fills all memory.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: `column` is not binary; a parameter is wrong.
    MissingExtraError
        Pillow is not installed.
    CorruptFileError
        When it runs, with ``on_error="error"``: names count, reason, and the path and row of the first.

    Notes
    -----
    Null stays null. Reasons are: not an image of a known format, cut off or damaged, too many pixels, pixels of an
    unusual kind (more than 8 bits, say). The quarantine table has the columns ``row``, ``reason`` and those of the data
    at this place.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> grey = b"P5 2 1 255 " + bytes([0, 255])
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"content": [grey, b"broken", None]}))
    >>> decode = DecodeImage(size=(1, 2), mode="L", on_error="null")
    >>> ps.Pipeline(decode).fit(data).transform(data).to_arrow()["image"].to_pylist()
    [[0.0, 1.0], None, None]
    """

    column: str = "content"
    _: KW_ONLY
    output_column: str = "image"
    size: tuple[int, int] = (224, 224)
    mode: str = field(default="RGB", metadata=one_of(*_CHANNELS))
    resize: str = field(default="crop", metadata=one_of("crop", "stretch"))
    short_side: int | None = None
    scale: float = 1 / 255
    mean: float | tuple[float, ...] | None = None
    std: float | tuple[float, ...] | None = None
    on_error: str = field(default="quarantine", metadata=one_of(*_TAGS))
    path: str | None = None
    max_pixels: int = field(default=89_478_485, metadata=in_range(least=1, whole=True))

    tags: ClassVar[Tags] = _TAGS["quarantine"]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "tags", _TAGS[self.on_error])
        object.__setattr__(self, "size", tuple(self.size))
        if len(self.size) != 2 or not all(type(side) is int and side > 0 for side in self.size):
            raise wrong_parameter(self, "size", "height and width")
        check_number(self, "short_side", least=max(self.size), whole=True)
        for name, default in (("mean", 0.0), ("std", 1.0)):
            self._each_channel(name, default)

    def _each_channel(self, name: str, default: float) -> tuple[float, ...]:
        value, wanted = getattr(self, name), _CHANNELS[self.mode]
        several = isinstance(value, tuple | list)
        values = tuple(value) if several else (default if value is None else value,) * wanted
        finite = all(isinstance(each, Real) and np.isfinite(float(each)) for each in values)
        if len(values) != wanted or not finite or (name == "std" and not min(values) > 0):
            expected = f"{wanted} number(s), one a channel" + (", above 0" if name == "std" else "")
            raise wrong_parameter(self, name, expected)
        if several:
            object.__setattr__(self, name, values)
        return values

    def bind(self, schema: pa.Schema) -> Self:
        """Check the columns, and find the one of paths."""
        named = "path" in schema.names and pa.types.is_string(schema.field("path").type)
        path = "path" if self.path is None and named else self.path
        require(schema, [self.column, *([] if path is None else [path])], stage=self.title)
        check_types(self, schema, (self.column,))
        if path is not None and not pa.types.is_string(schema.field(path).type):
            kind = schema.field(path).type
            raise SchemaError(f"column {path!r} is {kind}, expected paths", column=path, stage=self.title)
        if self.on_error == "quarantine":
            check_names(schema, self.title)
        self._decoder()
        return replace(self, path=path)

    def inputs(self) -> tuple[str, ...]:
        """Return the column of images, and the one that names them."""
        return (self.column,) if self.path is None else tuple(dict.fromkeys((self.column, self.path)))

    def outputs(self) -> tuple[str, ...]:
        """Return the column of lists."""
        return (self.output_column,)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return `schema` with a column of lists of float32."""
        return with_fields(schema, {self.output_column: pa.list_(pa.float32())})

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return the rows whose images could be decoded, and note the others."""
        values, known, reasons = self._decoded(frame)
        if reasons and self.on_error == "error":
            raise self._error(frame, reasons)
        made = frame.with_columns(matrices.masked(frame, self.output_column, values, ~known))
        if not reasons or self.on_error == "null":
            return made
        for reason in dict.fromkeys(reasons.values()):
            here = np.isin(np.arange(len(frame)), [row for row, found in reasons.items() if found == reason])
            log.quarantine(f"image: {reason}", set_aside(self._rows(frame, here), f"image: {reason}"))
        return self._rows(made, ~np.isin(np.arange(len(frame)), list(reasons)))

    def _decoded(self, frame: nw.DataFrame) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
        """Return the numbers of each row, whether there are any, and why not where the image is broken."""
        from penstock.stages.preprocessing.images._pillow import Broken

        decoder, lookup = self._decoder(), self._lookup()
        channel = np.arange(len(lookup))[:, None, None]
        values = np.zeros((len(frame), _CHANNELS[self.mode] * self.size[0] * self.size[1]), dtype=np.float32)
        known, reasons = np.zeros(len(frame), dtype=bool), {}
        for row, content in enumerate(self._contents(frame)):
            if content is None:
                continue
            try:
                values[row] = lookup[channel, decoder(content)].ravel()
                known[row] = True
            except Broken as error:
                reasons[row] = str(error)
        return values, known, reasons

    def _contents(self, frame: nw.DataFrame) -> Iterator[bytes | None]:
        table = frames.to_arrow(frame.select(self.column), pa.schema({self.column: pa.binary()}))
        return (value.as_py() for value in table[self.column])

    def _lookup(self) -> np.ndarray:
        """Return what each value of a pixel becomes, float32 of shape (channels, 256)."""
        mean, std = (np.reshape(self._each_channel(*each), (-1, 1)) for each in (("mean", 0.0), ("std", 1.0)))
        return ((np.arange(256) * self.scale - mean) / std).astype(np.float32)

    def _rows(self, frame: nw.DataFrame, chosen: np.ndarray) -> nw.DataFrame:
        return frame.filter(matrices.column(frame, "chosen", chosen))

    def _error(self, frame: nw.DataFrame, reasons: dict[int, str]) -> CorruptFileError:
        row, reason = min(reasons.items())
        first = frame[row : row + 1]
        path = None if self.path is None else first[self.path][0]
        return CorruptFileError(
            f"{len(reasons)} of {len(frame)} images in column {self.column!r} cannot be decoded, the first: {reason}",
            hint='Pass on_error="quarantine" or "null" to go on without them.',
            row=int(first[ROW][0]) if ROW in frame.columns else None,
            path=path,
            column=self.column,
        )

    def _decoder(self) -> Decoder:
        with importing("Pillow", "images", self.title):
            from penstock.stages.preprocessing.images._pillow import Decoder
        return Decoder(self.size, self.mode, self.resize == "crop", self.short_side, self.max_pixels)
