"""One image from bytes to pixels of the size asked for, by Pillow."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""What is tried. Pillow knows more, among them some that start other programs, or that hardly anyone tests."""
_EIGHT_BITS = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr")


class Broken(Exception):
    """An image that cannot be used; the text is one of a few reasons."""


@dataclass(frozen=True)
class Decoder:
    """How images are brought to one shape.

    Parameters
    ----------
    size : tuple of int
        Height and width.
    mode : {"RGB", "L"}
    crop : bool
        Scale until the short side is `short_side` (or the image covers `size`) and cut out the centre; or stretch.
    short_side : int or None
    max_pixels : int
    """

    size: tuple[int, int]
    mode: str
    crop: bool
    short_side: int | None
    max_pixels: int

    def __call__(self, content: bytes) -> np.ndarray:
        """Return pixels, uint8 of shape (channels, height, width), of the first frame, turned as its EXIF data says.

        Raises
        ------
        Broken
            It is no image, cut off, damaged, too large, or has pixels of an unusual kind.
        """
        try:
            with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
                if image.width * image.height > self.max_pixels:
                    raise Broken("too many pixels")
                if image.mode not in _EIGHT_BITS:
                    raise Broken("pixels of an unusual kind")
                pixels = np.asarray(self._shaped(ImageOps.exif_transpose(image).convert(self.mode)))
        except (Broken, MemoryError):
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise Broken("too many pixels") from error
        except UnidentifiedImageError as error:
            raise Broken("not an image of a known format") from error
        except Exception as error:  # each format's reader raises what it likes for bytes that make no sense
            raise Broken("cut off or damaged") from error
        return pixels.reshape(*self.size, -1).transpose(2, 0, 1)

    def _shaped(self, image: Image.Image) -> Image.Image:
        height, width = self.size
        if not self.crop:
            return image.resize((width, height), Image.Resampling.BILINEAR)
        scaled = image.resize(self._scaled(image), Image.Resampling.BILINEAR)
        top, left = round((scaled.height - height) / 2), round((scaled.width - width) / 2)
        return scaled.crop((left, top, left + width, top + height))

    def _scaled(self, image: Image.Image) -> tuple[int, int]:
        """Return width and height before cropping; with `short_side` those of torchvision's Resize."""
        short, long = sorted(image.size)
        if self.short_side is not None:
            sides = self.short_side, int(self.short_side * long / short)
            return sides if image.width <= image.height else sides[::-1]
        height, width = self.size
        scale = max(height / image.height, width / image.width)
        return max(width, round(image.width * scale)), max(height, round(image.height * scale))
