"""Defaults are said once, by the class that takes them: settings and the command line leave them out."""

import dataclasses
import inspect
from pathlib import Path

import typer

import penstock as ps
from penstock.cli.commands import app
from penstock.cli.describing import DescribeRequest
from penstock.cli.etl.request import RunRequest
from penstock.cli.refitting import RefitRequest
from penstock.cli.registry.requests import PromoteRequest
from penstock.cli.requests import CheckRequest, EvaluateRequest, ExplainRequest, FitRequest, ScoreRequest, TuneRequest
from penstock.config.settings import Settings
from penstock.engines.dask.settings import DaskSettings
from penstock.engines.local.settings import LocalSettings
from penstock.engines.reading import Reading
from penstock.engines.settings import engine_settings
from penstock.engines.spark.settings import SparkSettings
from penstock.io.formats import FORMATS
from penstock.pipeline.cardinality import CountOptions
from penstock.spmd import SpmdOptions

CONF = Path(__file__).parents[1] / "conf" / "engines"
COMMANDS = {
    "fit": (FitRequest, SpmdOptions, CountOptions),
    "tune": (TuneRequest, SpmdOptions),
    "evaluate": (EvaluateRequest,),
    "score": (ScoreRequest,),
    "explain": (ExplainRequest, CountOptions),
    "refit": (RefitRequest, SpmdOptions, CountOptions),
    "describe": (DescribeRequest,),
    "check": (CheckRequest, CountOptions),
    "run": (RunRequest,),
    "promote": (PromoteRequest,),
}
OF_THE_COMMAND_LINE = {"as_json", "traceback"}


def test_settings_have_what_the_engine_takes_and_no_default_of_their_own(subtests):
    for name, settings in {
        "LocalEngine": LocalSettings,
        "DaskEngine": DaskSettings,
        "SparkEngine": SparkSettings,
    }.items():
        with subtests.test(name):
            fields = {field: info.default for field, info in settings.model_fields.items() if field != "engine"}
            takes = set(inspect.signature(getattr(ps, name)).parameters) - {"session", "progress"}
            assert fields == dict.fromkeys(takes)


def test_an_engine_of_the_command_line_is_that_of_python():
    for folder in (CONF, Path("nowhere")):
        started = engine_settings("local", "cpu", Settings(), folder, {}).start(None)
        assert {**vars(started), "progress": None} == {**vars(ps.LocalEngine(device="cpu")), "progress": None}, folder


def test_options_of_a_command_show_the_defaults_of_their_classes_and_have_none(subtests):
    for command in COMMANDS:
        with subtests.test(command=command):
            defaults = {field.name: field.default for kind in COMMANDS[command] for field in dataclasses.fields(kind)}
            shown = {name: str(value) for name, value in defaults.items() if type(value) in (int, float, str)}
            options = {option.name: option for option in typer.main.get_command(app).commands[command].params}
            options = {name: option for name, option in options.items() if name not in {*OF_THE_COMMAND_LINE, "help"}}
            assert options.keys() <= defaults.keys()
            assert {name: option.default for name, option in options.items()} == dict.fromkeys(options)
            said = {name: each.show_default for name, each in options.items() if isinstance(each.show_default, str)}
            assert said == {name: text for name, text in shown.items() if name in options}


def test_every_option_of_a_command_says_what_it_is_for(subtests):
    for command in COMMANDS:
        with subtests.test(command=command):
            options = typer.main.get_command(app).commands[command].params
            assert {option.name for option in options if not option.help} == set()
            repeated = {option.name for option in options if option.name == "data" or option.multiple}
            assert {option.name for option in options if option.help.endswith("may be repeated.")} == repeated


def test_a_reader_of_one_format_has_the_options_of_the_general_door_and_their_defaults(subtests):
    for name in FORMATS:
        with subtests.test(name=name):
            takes = dict(list(inspect.signature(getattr(Reading, f"read_{name}")).parameters.items())[2:])
            door = inspect.signature(Reading.read).parameters
            options = {field.name: field.default for field in dataclasses.fields(FORMATS[name].options)}
            options["fragment_bytes"] = None  # that of the engine, which both doors ask
            general = {each: door[each].default for each in ("allow_unmanifested", "storage_options") if each in takes}
            assert {each: takes[each].default for each in takes} == {**options, **general}
