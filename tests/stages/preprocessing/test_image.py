"""Images against pixels that are known, and broken ones against what is promised."""

import io
import struct
import zlib

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import penstock as ps
from penstock.errors import ConfigError, CorruptFileError, SchemaError
from penstock.stages import DecodeImage
from penstock.stages.preprocessing.images._pillow import Decoder
from penstock.stages.preprocessing.images.decode_image import IMAGENET_MEAN, IMAGENET_STD

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)


def encoded(pixels: np.ndarray, form: str = "PNG", **options) -> bytes:
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, form, **options)
    return sink.getvalue()


def decoded(*files: bytes | None, **options) -> list:
    return fitted(pa.table({"content": pa.array(files, pa.binary())}), **options).to_arrow()["image"].to_pylist()


def fitted(table: pa.Table, **options):
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    return ps.Pipeline(DecodeImage(**options)).fit(data).transform(data)


def test_numbers_are_channels_first_scaled_and_normalised():
    found = decoded(encoded(PIXELS), size=(6, 8), mean=IMAGENET_MEAN, std=IMAGENET_STD)
    expected = (PIXELS.transpose(2, 0, 1) / 255 - np.reshape(IMAGENET_MEAN, (3, 1, 1))) / np.reshape(
        IMAGENET_STD, (3, 1, 1)
    )
    np.testing.assert_allclose(found[0], expected.ravel(), rtol=1e-6)


def test_formats_without_loss_give_the_pixels(subtests):
    grey = np.repeat(PIXELS[:, :, :1], 3, axis=2)
    for form in ["BMP", "GIF", "PNG", "PPM", "TIFF"]:
        with subtests.test(form=form):
            assert decoded(encoded(grey, form), size=(6, 8), scale=1.0) == [grey.transpose(2, 0, 1).ravel().tolist()]


def test_formats_with_loss_give_about_the_pixels(subtests):
    even = np.full((16, 16, 3), (200, 100, 50), dtype=np.uint8)
    for form in ["JPEG", "WEBP"]:
        with subtests.test(form=form):
            found = np.reshape(decoded(encoded(even, form), size=(16, 16), scale=1.0)[0], (3, -1))
            np.testing.assert_allclose(found.mean(axis=1), [200, 100, 50], atol=4)


def test_the_centre_is_cut_out_as_torchvision_does():
    # 8 x 6 pixels, whose short side is 6 as asked for: nothing is scaled, and columns 2 to 5, rows 1 to 4 are left.
    found = decoded(encoded(PIXELS), size=(4, 4), short_side=6, scale=1.0)
    assert found == [PIXELS[1:5, 2:6].transpose(2, 0, 1).ravel().tolist()]


def test_the_short_side_is_scaled_to_as_torchvision_does(subtests):
    """Sizes of torchvision.transforms.Resize(20): the longer side is rounded down."""
    decoder = Decoder((20, 20), "L", True, 20, 10**6)
    for height, width, expected in [(10, 30, (20, 60)), (30, 10, (60, 20)), (7, 9, (20, 25))]:
        with subtests.test(height=height, width=width):
            assert decoder._scaled(Image.new("L", (width, height)))[::-1] == expected


def test_an_image_is_scaled_to_cover_the_size():
    wide = np.repeat(np.array([[0, 10, 20, 30]], dtype=np.uint8), 2, axis=0)
    assert decoded(encoded(wide), size=(2, 2), mode="L", scale=1.0) == [[10, 20, 10, 20]]


def test_halving_a_size_weighs_neighbours_by_a_triangle():
    # Bilinear over all pixels: weights 1, 3, 3, 1 of eighths inside; at the edge 3, 3, 1 of sevenths.
    row = np.array([[0, 70, 140, 210, 140, 70]], dtype=np.uint8)
    left, middle = (3 * 0 + 3 * 70 + 1 * 140) / 7, (70 + 3 * 140 + 3 * 210 + 140) / 8
    right = (1 * 210 + 3 * 140 + 3 * 70) / 7
    found = decoded(encoded(row), size=(1, 3), mode="L", resize="stretch", scale=1.0)
    np.testing.assert_allclose(found[0], [left, middle, right], atol=0.51)


def test_an_image_is_turned_as_its_exif_data_says():
    exif = Image.Exif()
    exif[0x0112] = 6  # the first row is the right side
    found = decoded(encoded(PIXELS, "PNG", exif=exif), size=(8, 6), scale=1.0)
    assert found == [np.rot90(PIXELS, -1).transpose(2, 0, 1).ravel().tolist()]


def test_palettes_and_transparency_become_colours():
    red = Image.new("P", (2, 2), 1)
    red.putpalette([0, 0, 0, 255, 0, 0])
    sink = io.BytesIO()
    red.save(sink, "PNG", transparency=0)
    assert decoded(sink.getvalue(), size=(1, 1), scale=1.0) == [[255, 0, 0]]


GOOD = encoded(PIXELS)


def bomb() -> bytes:
    """Return a PNG that says it has ten thousand million pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return start + struct.pack(">I", 9) + b"IDAT" + bytes(9)


BROKEN = {
    b"": "not an image of a known format",
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n": "not an image of a known format",
    GOOD[:-40]: "cut off or damaged",
    GOOD[:60] + b"\0\0\0\0" + GOOD[64:]: "cut off or damaged",
    bomb(): "too many pixels",
    encoded(PIXELS[:, :, 0].astype(np.uint16)): "pixels of an unusual kind",
}


def test_what_is_broken_is_set_aside_with_its_path_and_a_reason(tmp_path, subtests):
    for place, (content, reason) in enumerate(BROKEN.items()):
        with subtests.test(content=content, reason=reason):
            table = pa.table({"path": ["good.png", "bad.png", "last.png"], "content": [GOOD, content, GOOD]})
            result = fitted(table, size=(2, 2)).select("image").write_parquet(tmp_path / str(place))
            assert (result.rows, result.quarantined) == (2, {f"image: {reason}": 1})
            aside = ps.LocalEngine(device="cpu").read_parquet(result.quarantine).to_arrow().to_pylist()
            assert aside == [{"row": 1, "reason": f"image: {reason}", "path": "bad.png", "content": content}]


def test_reasons_are_counted_apart():
    table = pa.table({"content": [b"", GOOD[:-40], b"?", GOOD]})
    _, log = fitted(table, size=(2, 2)).gather(())
    assert log.quarantined == {"image: not an image of a known format": 2, "image: cut off or damaged": 1}


def test_a_limit_of_pixels_can_be_set():
    assert decoded(GOOD, size=(2, 2), on_error="null", max_pixels=47) == [None]
    assert decoded(GOOD, size=(2, 2), on_error="null", max_pixels=48) != [None]


def test_an_error_names_count_reason_path_and_row():
    table = pa.table({"path": ["a", "b", "c"], "content": [GOOD, b"?", b""]})
    with pytest.raises(CorruptFileError, match=r"2 of 3 images in column 'content' .* known format") as caught:
        fitted(table, size=(2, 2), on_error="error").to_arrow()
    assert (caught.value.path, caught.value.row, caught.value.column) == ("b", 1, "content")


def test_an_error_without_a_column_of_paths_names_the_file_of_the_row(tmp_path):
    for name, content in {"a.png": GOOD, "b.png": b"?"}.items():
        (tmp_path / name).write_bytes(content)
    data = ps.LocalEngine(device="cpu").read_files(tmp_path).select("content")
    model = ps.Pipeline(DecodeImage(size=(2, 2), on_error="error")).fit(data)
    with pytest.raises(CorruptFileError) as caught:
        model.transform(data).to_arrow()
    assert caught.value.path == str(tmp_path / "b.png")


def test_parameters_are_checked(subtests):
    for options, problem in [
        ({"size": (0, 2)}, "size of DecodeImage is"),
        ({"size": (2,)}, "expected height and width"),
        ({"mode": "RGBA"}, "mode of DecodeImage is 'RGBA'"),
        ({"resize": "pad"}, "resize of DecodeImage is 'pad'"),
        ({"short_side": 100}, "short_side of DecodeImage is 100, expected an integer >= 224"),
        ({"mean": (0.5, 0.5)}, "expected 3 number"),
        ({"std": 0.0}, "one a channel, above 0"),
        ({"on_error": "skip"}, "on_error of DecodeImage is 'skip'"),
    ]:
        with subtests.test(options=options), pytest.raises(ConfigError, match=problem):
            DecodeImage(**options)


def test_columns_are_checked_before_anything_is_read(subtests):
    for schema, options, problem in [
        ({"content": pa.string()}, {}, "'content' is string, but DecodeImage takes binary"),
        ({"data": pa.binary()}, {}, "'content' is not in the data"),
        ({"content": pa.binary(), "file": pa.int64()}, {"path": "file"}, "'file' is int64, expected paths"),
        ({"content": pa.binary(), "reason": pa.string()}, {}, "column 'reason', which the quarantine table"),
    ]:
        with subtests.test(schema=schema, options=options), pytest.raises((SchemaError, ConfigError), match=problem):
            DecodeImage(**options).bind(pa.schema(schema))
