"""Mutation testing of the library against a list of known mutants.

``draw`` draws mutants of covered lines by a fixed seed, tries them and writes tests/mutants.txt. ``run`` tries those of
the list, each with the tests that cover its line, and fails if one survives that was killed. Both read the coverage
contexts and durations that ``make mutants`` records, and mutate copies of the checkout.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue

import coverage
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.plugins import get_operator

from tools.suite import read_durations

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "mutants.txt"
MUTATED = ("statistics", "io/sinks", "pipeline", "dataset/folds", "stages/evaluation")
SEED, NUMBER, SHARE = 20261128, 200, 0.9
SECONDS_OF_TESTS, SECONDS = 12.0, 30.0
"""Time limits of a mutant: its tests by their recorded durations, and their process with its start."""

COMPARISONS = "Lt_LtE LtE_Lt Gt_GtE GtE_Gt Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is"
ARITHMETIC = "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul BitAnd_BitOr BitOr_BitAnd LShift_RShift"
OPERATORS = (
    *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARISONS.split()),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ARITHMETIC.split()),
    *("AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue"),
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_USub_UAdd", "ZeroIterationForLoop", "NumberReplacer"),
)


@dataclass(frozen=True)
class Mutant:
    """A change of one line of one file.

    Parameters
    ----------
    path : str
        The file, relative to the checkout.
    operator : str
        An operator of Cosmic Ray.
    occurrence : int
        Index among the positions of the file that the operator can change.
    before, after : str
        The line, without its indent.
    outcome : {"killed", "survives", "equivalent", "unknown"}
        "equivalent" is written by hand, for a mutant that behaves as the code does. The outcome is "unknown" if no test
        covers the line, or if the line is no longer there.
    """

    path: str
    operator: str
    occurrence: int
    before: str
    after: str
    outcome: str = "unknown"

    def __str__(self) -> str:
        return "\t".join([self.outcome, self.path, self.operator, str(self.occurrence), self.before, self.after])

    @classmethod
    def parse(cls, line: str) -> Mutant:
        """Return the mutant of a line of the list."""
        outcome, path, operator, occurrence, before, after = line.split("\t")
        return cls(path, operator, int(occurrence), before, after, outcome)


def draw(covered: coverage.CoverageData) -> list[Mutant]:
    """Return covered mutants that change the program, in random order."""
    files = sorted(path for part in MUTATED for path in (ROOT / "penstock" / part).rglob("*.py"))
    positions = [position for path in files for position in positions_of(path)]
    random.Random(SEED).shuffle(positions)
    drawn = (mutant for mutant in itertools.starmap(mutant_at, positions) if mutant and tests_of(mutant, covered))
    return list(itertools.islice(drawn, NUMBER))


def positions_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the file, operator and occurrence of each position that an operator can change."""
    nodes = list(ast_nodes(get_ast(path.read_text())))
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        number = sum(1 for node in nodes for _ in operator.mutation_positions(node))
        yield from ((path.relative_to(ROOT).as_posix(), name, occurrence) for occurrence in range(number))


def mutant_at(path: str, operator: str, occurrence: int) -> Mutant | None:
    """Return the mutant of a position, None if its code is invalid or only annotations change."""
    code = (ROOT / path).read_text()
    changed = mutated(code, operator, occurrence)
    if changed is None or tree_of(changed) in ("", tree_of(code)):
        return None
    _, before, after = first_difference(code, changed)
    return Mutant(path, operator, occurrence, before, after)


def mutated(code: str, operator: str, occurrence: int) -> str | None:
    """Return mutated code, None if there is no such position."""
    changed: str | None = MutationVisitor.mutate_code(code, get_operator(f"core/{operator}")(), occurrence)
    return changed


def tree_of(code: str) -> str:
    """Return the syntax tree without annotations, empty for invalid code."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if hasattr(node, name):
                setattr(node, name, None)
    return ast.dump(tree)


def first_difference(code: str, changed: str) -> tuple[int, str, str]:
    """Return the number of the first line that differs, and that line of both."""
    pairs = enumerate(zip(code.splitlines(), changed.splitlines(), strict=False), 1)
    return next((number, old.strip(), new.strip()) for number, (old, new) in pairs if old != new)


def tests_of(mutant: Mutant, covered: coverage.CoverageData) -> list[str]:
    """Return the tests that cover the line, none if the line is no longer there."""
    code = (ROOT / mutant.path).read_text()
    changed = mutated(code, mutant.operator, mutant.occurrence)
    if changed is None:
        return []
    number, before, _ = first_difference(code, changed)
    contexts = covered.contexts_by_lineno(str(ROOT / mutant.path)).get(number, []) if before == mutant.before else []
    return sorted({name.partition("|")[0].partition("@")[0] for name in contexts if "::" in name})


def select_tests(mutant: Mutant, covered: coverage.CoverageData, seconds: dict[str, float]) -> list[str]:
    """Return tests within the time limit: files named after the module first, then the fastest."""
    word = Path(mutant.path).stem.strip("_")
    tests = sorted(
        tests_of(mutant, covered), key=lambda test: (word not in test.partition("::")[0], seconds.get(test, 1.0))
    )
    spent = itertools.accumulate(seconds.get(test, 1.0) + 0.01 for test in tests)
    within = sum(total <= SECONDS_OF_TESTS for total in spent)
    return tests[: min(max(within, 1), 400)]


def outcomes(mutants: list[Mutant], data: Path, durations: Path, processes: int) -> Iterator[Mutant]:
    """Yield the mutants with their outcomes, in order."""
    covered, seconds = coverage.CoverageData(str(data)), read_durations([durations])
    covered.read()
    plans = [select_tests(mutant, covered, seconds) for mutant in mutants]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(processes) as pool:
        copies = [copied(Path(folder) / str(number)) for number in range(processes)]
        failing = failing_without_mutants(sorted(set(itertools.chain(*plans))), copies[0], processes)
        free: SimpleQueue[Path] = SimpleQueue()
        for copy in copies:
            free.put(copy)

        def tried(mutant: Mutant, tests: list[str]) -> Mutant:
            copy = free.get()
            try:
                return replace(mutant, outcome=outcome(mutant, [test for test in tests if test not in failing], copy))
            finally:
                free.put(copy)

        yield from pool.map(tried, mutants, plans)


def failing_without_mutants(tests: list[str], copy: Path, processes: int) -> set[str]:
    """Return the tests that fail in a copy of the checkout as it is: they would kill every mutant."""
    subprocess.run(command_of(tests, "-n", str(processes)), cwd=copy, env=environment(copy), check=False)
    failed = copy / ".pytest_cache" / "v" / "cache" / "lastfailed"
    return set(json.loads(failed.read_text())) if failed.exists() else set()


def outcome(mutant: Mutant, tests: list[str], copy: Path) -> str:
    """Return the outcome of the tests in a mutated copy of the checkout."""
    path = copy / mutant.path
    code = path.read_text()
    changed = mutated(code, mutant.operator, mutant.occurrence)
    if changed is None or not tests:
        return "unknown"
    path.write_text(changed)
    command = command_of(tests, "-x", "--timeout", str(SECONDS))
    try:
        done = subprocess.run(command, cwd=copy, env=environment(copy), capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "killed"  # without the mutant the tests take less than half of it
    finally:
        path.write_text(code)
    if done.returncode == 5:  # none of the tests is left
        return "unknown"
    return "killed" if done.returncode else "survives"


def command_of(tests: list[str], *options: str) -> list[str]:
    """Return a command that runs tests in one order, on the local engine."""
    quiet = ("-q", "--tb=no", "--no-header", "-p", "no:randomly", "--engines", "local")
    return [sys.executable, "-m", "pytest", *quiet, *options, *tests]


def environment(copy: Path) -> dict[str, str]:
    """Return variables with which Python imports the library of a copy."""
    return os.environ | {"PYTHONPATH": str(copy)}


def copied(target: Path) -> Path:
    """Copy the checkout without environments, outputs and sample data."""
    ignored = shutil.ignore_patterns("__pycache__", ".*", "models", "out", "samples")
    return Path(shutil.copytree(ROOT, target, ignore=ignored))


def main() -> int:
    """Draw mutants or run those of the list; return 1 if a killed one survives, or too many survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("draw", "run"))
    parser.add_argument("--coverage", type=Path, default=ROOT / ".work" / "mutants.coverage")
    parser.add_argument("--durations", type=Path, default=ROOT / ".work" / "durations" / "mutants.json")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.verb == "draw":
        covered = coverage.CoverageData(str(options.coverage))
        covered.read()
        mutants = draw(covered)
    else:
        listed = map(Mutant.parse, LIST.read_text().splitlines())
        mutants = [mutant for mutant in listed if mutant.outcome != "equivalent"]
    done = []
    for mutant in outcomes(mutants, options.coverage, options.durations, options.processes):
        done.append(mutant)
        print(mutant, flush=True)
    if options.verb == "draw":
        LIST.write_text("".join(f"{mutant}\n" for mutant in done))
    killed = sum(mutant.outcome == "killed" for mutant in done)
    lost = sum(old.outcome == "killed" and new.outcome == "survives" for old, new in zip(mutants, done, strict=True))
    print(f"{killed} of {len(done)} killed, {lost} of those that were killed before survive")
    return int(lost > 0 or killed < SHARE * len(done))


if __name__ == "__main__":
    sys.exit(main())
