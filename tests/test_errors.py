"""What an error says, wherever it is printed."""

from __future__ import annotations

import pickle

import pytest

from penstock import LocalEngine
from penstock.errors import ConfigError, MissingInputError

URL = "s3://me:hunter2@bucket/part.parquet"


@pytest.mark.parametrize(
    "error",
    [
        ConfigError(f"cannot open {URL}"),
        ConfigError("cannot open it", hint=f"Look at {URL}."),
        ConfigError("cannot open it", path=URL),
        pickle.loads(pickle.dumps(ConfigError("cannot open it", path=URL))),
        ConfigError(f"cannot open {URL}").at(stage="index"),
    ],
    ids=["message", "hint", "place", "from a worker", "at a stage"],
)
def test_the_password_of_a_url_is_not_in_the_text(error: ConfigError) -> None:
    assert "hunter2" not in str(error)
    assert "s3://me:***@bucket/part.parquet" in str(error)


def test_the_place_stays_what_it_is_for_whoever_acts_on_it() -> None:
    assert ConfigError("cannot open it", path=URL).path == URL


def test_a_url_that_matches_nothing_is_told_without_its_password() -> None:
    with pytest.raises(MissingInputError, match=r"me:\*\*\*@nowhere") as caught:
        LocalEngine(device="cpu").read_parquet("memory://me:hunter2@nowhere/part.parquet")
    assert "hunter2" not in str(caught.value)
