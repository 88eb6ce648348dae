"""The handwritten digits: one table, and the same pictures as files."""

import digits
import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from sklearn.datasets import load_digits


def test_the_table_is_scikit_learns(tmp_path):
    paths = digits.write(tmp_path / "digits")
    assert len(paths) == 4
    written = pq.read_table(tmp_path / "digits")
    pixels = np.column_stack([written[name].to_numpy() for name in digits.PIXELS])
    np.testing.assert_array_equal(pixels * 16, load_digits().data)
    np.testing.assert_array_equal(written["label"].to_numpy(), load_digits().target)


def test_files_hold_the_same_pictures(tmp_path):
    paths = digits.write_images(tmp_path / "images", most=20)
    assert [path.parent.name for path in paths] == [str(label) for label in load_digits().target[:20]]
    found = np.stack([np.asarray(Image.open(path), dtype=float) for path in paths])
    np.testing.assert_allclose(found * 16 / 255, load_digits().images[:20], atol=0.51 * 16 / 255)


def test_files_that_are_there_stay(tmp_path):
    digits.write_images(tmp_path / "images", most=1)
    with pytest.raises(FileExistsError, match="expected a new or empty one"):
        digits.write_images(tmp_path / "images", most=1)
