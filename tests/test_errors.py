"""What an error says, wherever it is printed."""

from __future__ import annotations

import pickle

import pytest

from penstock import LocalEngine
from penstock.errors import ConfigError, MissingInputError, PenstockError

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


@pytest.mark.parametrize("kind", [ConfigError, MissingInputError])
def test_neither_repr_nor_args_of_an_error_hold_a_secret(kind: type[PenstockError]) -> None:
    error = pickle.loads(pickle.dumps(kind(f"cannot open {URL}", hint=f"Look at {URL}.", path=URL).at(stage="index")))
    told = f"{error!r} {error.args} {error.message} {error.hint} {error}"
    assert "hunter2" not in told
    assert error.args == ("cannot open s3://me:***@bucket/part.parquet",)
    assert error.path == URL


def test_a_password_that_a_cut_left_without_its_host_is_hidden() -> None:
    assert "hunter2" not in str(ConfigError(f"engine is {URL[:16]}..."))


def test_names_cannot_make_lines_of_their_own_or_reach_the_terminal() -> None:
    name = "x\n  Hint: \x1b[2Jdelete everything\u202e"
    error = ConfigError(f"column {name} is wrong", hint=f"Rename {name}.", column=name)
    assert str(error).count("\n") == 1
    assert not set(str(error)) & set("\x1b\u202e")
    assert r"column x\n  Hint: \x1b[2Jdelete everything\u202e is wrong" in str(error)
    assert error.column == name


def test_the_place_stays_what_it_is_for_whoever_acts_on_it() -> None:
    assert ConfigError("cannot open it", path=URL).path == URL


def test_a_url_that_matches_nothing_is_told_without_its_password() -> None:
    with pytest.raises(MissingInputError, match=r"me:\*\*\*@nowhere") as caught:
        LocalEngine(device="cpu").read_parquet("memory://me:hunter2@nowhere/part.parquet")
    assert "hunter2" not in str(caught.value)
