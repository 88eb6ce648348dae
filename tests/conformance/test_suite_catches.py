"""The suite can fail: each fault is caught by the check that is there for it, and a sound stage by none."""

import broken_stages as broken
import pytest
from timed_subtests import run_checks

from penstock.dataset.tasks import Probe
from penstock.errors import ConfigError, SchemaError
from penstock.stages import TargetEncoder, VarianceThresholdSelector
from penstock.stages.base import ColumnStage, Stage
from penstock.stages.evaluation import Evaluator
from penstock.statistics import Counts, ValueCounts
from penstock.testing import Columns, Refused, checks_for, discover_examples, examples_of, tables
from penstock.testing.datasets import cut


def polars(*values):
    """Return parameters of a test whose stage, or whose error, is Polars' own."""
    return pytest.param(*values, marks=pytest.mark.cpu("the fault is made with Polars"))


CAUGHT = [
    (broken.SumOfSquares, "check_any_partitioning[offset]", r"learns\['variance'\]"),
    (broken.FirstSeen, "check_any_partitioning[ordinary]", r"learns\['least'\]"),
    (broken.RoundsRows, "check_one_row_is_scored_the_same", "row by row"),
    (broken.LooksAtRows, "check_lazy_frames", "LazyFrame"),
    (broken.FromItsPartition, "check_every_row_for_itself", "slice by slice"),
    (broken.LearnsWhileItIsUsed, "check_nothing_changes_in_place", "the state given to"),
    (broken.TwoFits, "check_fit_is_repeatable", "the second time"),
    (broken.TwoFits, "check_engines_agree[ordinary]", r"learns\['least'\]"),
    (broken.WrongSchema, "check_schema", "declared is"),
    (broken.DropsColumn, "check_other_columns_stay", "leaves out s1"),
    (broken.TellsOfTooMuch, "check_other_columns_stay", "cannot have left out s1"),
    (broken.Drops, "check_rows_are_kept", "gives the rows"),
    (broken.Drops, "check_ordinary_works", "RowCountError"),
    (broken.Reorders, "check_rows_are_kept", "gives the rows"),
    (broken.DeclaresTooLittle, "check_only_needed_columns_are_read", "column 'y' was read"),
    (broken.NotANumber, "check_survives[ordinary]", "has NaN"),
    (broken.DividesByZero, "check_survives[constant]", "does not refuse the data: ZeroDivisionError"),
    (broken.InfiniteForConstants, "check_survives[constant]", "has infinities"),
    (broken.Tells, "check_survives[all_null]", "names none of the columns"),
    (broken.NoPlace, "check_infinity_is_found[infinite]", "tells row None"),
    (broken.ForeignState, "check_survives[ordinary]", "numpy.float64"),
    (broken.InfiniteState, "check_survives[constant]", r"state\['scale'\]\['n1'\] is inf, which is not finite"),
    (broken.TrainsOnTwoReads, "check_scans_are_as_planned", "rows were read 3 times, expected 2"),
    (broken.ForgetsItsState, "check_warm_start_goes_on", "learns other things where it goes on"),
    (broken.AppendsInFront, "check_refit_learns_what_a_fit_learns", "begins with other values than before"),
    (broken.CodeForParameter, "check_parameters_are_json", "cannot be stored without storing code"),
    (broken.CodeForParameter, "check_saved_model_is_the_same", "cannot be stored without storing code"),
    (broken.TakesAnyParameter, "check_unknown_parameter_is_refused", "takes a parameter that it does not have"),
    (broken.Thawed, "check_frozen", "can be changed"),
    (broken.Unhashable, "check_hash", "unhashable"),
    (broken.HoldsAFunction, "check_pickle", "pickle"),
    (broken.Anonymous, "check_repr", "the text is"),
    (broken.BindsOnAndOn, "check_bind_twice", "n1_z_z"),
    (broken.TakesAnything, "check_missing_column_is_refused", "takes a schema in which column 'n1' is missing"),
    (broken.TakesAnything, "check_wrong_type_is_refused", "takes a schema in which column 'n1' is double"),
]
"""The stage with the fault, the check that must fail, and what it must say."""


def named(stage: Stage, name: str, oracle=None):
    return next(check for check in checks_for(stage, oracle) if check.name == name)


@pytest.mark.thorough
def test_a_sound_stage_passes(subtests, local):
    run_checks(checks_for(broken.Sound(("n1", "n3"))), local, subtests)


@pytest.mark.thorough
def test_a_fault_is_caught_by_its_check(local, subtests):
    for kind, name, problem in CAUGHT:
        with subtests.test(f"{kind.__name__}-{name}"), pytest.raises(Exception, match=problem):
            named(kind(("n1", "n3")), name)(local)


@pytest.mark.cpu("the fault is made with Polars")
def test_a_fault_of_a_frame_is_caught_by_its_check(local, subtests):
    for kind, name, problem in (
        (broken.InPlace, "check_nothing_changes_in_place", "the frame given to InPlace"),
        (broken.ReadsMore, "check_only_inputs_are_read", 'unable to find column "y"'),
    ):
        with subtests.test(name), pytest.raises(Exception, match=problem):
            named(kind(("n1", "n3")), name)(local)


TELLING = [
    broken.TellsLabels,
    broken.TellsInWords,
    polars(broken.TellsInLists),
    broken.TellsByNull,
    broken.LeavesOneOut,
]


@pytest.mark.parametrize("kind", TELLING)
def test_training_rows_that_tell_their_own_label_are_caught(kind, local):
    with pytest.raises(
        AssertionError, match=rf"'s1' of {kind.__name__}, in rows learned from, tells their 'label': 1.00"
    ):
        named(kind("s1"), "check_training_rows_do_not_tell_their_label")(local)


def test_a_stage_that_says_why_may_tell_labels(local):
    folds = [TargetEncoder("s1", num_folds=number) for number in (5, None)]
    names = [{check.name for check in checks_for(stage)} for stage in folds]
    assert names[0] - names[1] == {"check_training_rows_do_not_tell_their_label"}
    assert not folds[0].tags.tells_labels
    assert "no folds" in folds[1].tags.tells_labels


AGAIN = {
    "reduce": lambda data: data.gather([Counts(("n1",))]),
    "reduce in parts": lambda data: data.probe([Probe(0, (ValueCounts(("s1",)),), {}, {"s1": 2})]),
    "map": lambda data: data.to_arrow(),
}


@pytest.mark.parametrize("look", AGAIN.values(), ids=AGAIN)
def test_a_scan_that_was_not_planned_is_counted_whatever_the_way(look, local):
    data = cut(local, tables.ordinary())
    kind = type("ReadsAgain", (broken.ReadsAgain,), {"look": staticmethod(lambda: look(data))})
    with pytest.raises(AssertionError, match="2 scans were made and 1 reported, planned are 1"):
        named(kind(("n1", "n3")), "check_scans_are_as_planned")(local)


def wrong_by_one(stage: Stage, learned: Columns, given: Columns) -> Columns:
    least = min(value for value in learned["n1"] if value is not None)
    return {"id": given["id"], "n1": [None if value is None else value - least + 1.0 for value in given["n1"]]}


def refuses(stage: Stage, learned: Columns, given: Columns) -> Columns:
    raise Refused("n1")


@pytest.mark.parametrize("oracle", [wrong_by_one, refuses])
def test_an_oracle_that_disagrees_fails_the_check(oracle, local):
    with pytest.raises(AssertionError, match="n1"):
        named(broken.Sound("n1"), "check_oracle[ordinary]", oracle)(local)


def keeps_all(stage: Stage, learned: Columns, given: Columns) -> Columns:
    return {name: given[name] for name in ("id", *stage.doubtful())}


def test_an_oracle_that_keeps_other_columns_fails_the_check(local):
    selector = VarianceThresholdSelector(("n3", "w"), 0.5)
    with pytest.raises(AssertionError, match="VarianceThresholdSelector keeps n3, expected n3, w"):
        named(selector, "check_oracle[ordinary]", keeps_all)(local)


def test_a_stage_without_examples_is_refused():
    class NeedsMore(ColumnStage):
        def __init__(self, columns: str, more: int) -> None: ...

    with pytest.raises(ConfigError, match="the examples of NeedsMore cannot be made"):
        examples_of(NeedsMore)


def test_examples_over_other_columns_are_refused():
    with pytest.raises(SchemaError, match="nowhere"):
        checks_for(broken.Sound("nowhere"))


def test_every_stage_and_nothing_else_is_discovered():
    found = {type(stage) for stage in discover_examples()}
    public = {kind for kind in _concrete(Stage) if not kind.__name__.startswith("_")}
    assert found == {kind for kind in public if kind.__module__.startswith("penstock.")}
    assert not any(issubclass(kind, Evaluator) for kind in found)


def _concrete(kind: type) -> set[type]:
    below = {deep for each in kind.__subclasses__() for deep in _concrete(each)}
    return below | ({kind} if not getattr(kind, "__abstractmethods__", ()) else set())
