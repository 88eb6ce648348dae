"""What an error says, wherever it is printed."""

import pickle

from penstock.errors import ConfigError, MissingInputError

URL = "s3://me:hunter2@bucket/part.parquet"


def test_neither_repr_nor_args_of_an_error_hold_a_secret_and_its_place_stays_for_whoever_acts_on_it():
    for kind in (ConfigError, MissingInputError):
        given = kind(f"cannot open {URL}", hint=f"Look at {URL}.", path=URL).at(stage="index")
        for error in (given, pickle.loads(pickle.dumps(given))):
            told = f"{error!r} {error.args} {error.message} {error.hint} {error}"
            assert "hunter2" not in told
            assert error.args == ("cannot open s3://me:***@bucket/part.parquet",)
            assert error.path == URL
    assert "hunter2" not in str(ConfigError(f"engine is {URL[:16]}..."))  # cut off before its host


def test_names_cannot_make_lines_of_their_own_or_reach_the_terminal():
    name = "x\n  Hint: \x1b[2Jdelete everything\u202e"
    error = ConfigError(f"column {name} is wrong", hint=f"Rename {name}.", column=name)
    assert str(error).count("\n") == 1
    assert not set(str(error)) & set("\x1b\u202e")
    assert r"column x\n  Hint: \x1b[2Jdelete everything\u202e is wrong" in str(error)
    assert error.column == name
