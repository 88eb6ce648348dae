"""Mutants of the library: small faults drawn by a fixed seed, each of which some test has to fail for.

``draw`` writes the mutants of code that tests cover to tests/mutants.txt, ``run`` tries those that are listed there,
each with the tests that cover its line, and refuses those that survive, though they are listed as killed. Both read
what ``make mutants`` wrote: the lines that each test covers, and how long it takes. It mutates a copy of the checkout.
"""

from __future__ import annotations

import argparse
import ast
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
"""What the tests of a mutant may take by themselves, and with the start of their process."""

COMPARISONS = "Lt_LtE LtE_Lt Gt_GtE GtE_Gt Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is"
ARITHMETIC = "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul BitAnd_BitOr BitOr_BitAnd LShift_RShift"
OPERATORS = (
    *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARISONS.split()),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ARITHMETIC.split()),
    *[
        "AddNot",
        "ReplaceAndWithOr",
        "ReplaceOrWithAnd",
        "ReplaceTrueWithFalse",
        "ReplaceFalseWithTrue",
        "NumberReplacer",
    ],
    *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_USub_UAdd", "ZeroIterationForLoop", "NumberReplacer"),
)


@dataclass(frozen=True)
class Mutant:
    """One change of one line.

    Parameters
    ----------
    path : str
        The file, below the checkout.
    operator : str
        The operator of Cosmic Ray, and which of its places in the file.
    before, after : str
        The line.
    outcome : {"killed", "survives", "equivalent", "unknown"}
        An equivalent one, as somebody saw who read it, means what the code does: no test can fail for it.
    """

    path: str
    operator: str
    occurrence: int
    before: str
    after: str
    outcome: str = "unknown"

    @property
    def counts(self) -> bool:
        """Whether a test can fail for it."""
        return self.outcome != "equivalent"

    def __str__(self) -> str:
        return "\t".join([self.outcome, self.path, self.operator, str(self.occurrence), self.before, self.after])

    @classmethod
    def parse(cls, line: str) -> Mutant:
        """Return the mutant that a line of the list is."""
        outcome, path, operator, occurrence, before, after = line.split("\t")
        return cls(path, operator, int(occurrence), before, after, outcome)


def draw(covered: coverage.CoverageData) -> list[Mutant]:
    """Return mutants that mean something else than the code does, of lines that tests run, in an order of chance."""
    files = sorted(path for part in MUTATED for path in (ROOT / "penstock" / part).rglob("*.py"))
    choices = [place for path in files for place in places(path)]
    random.Random(SEED).shuffle(choices)
    mutants: list[Mutant] = []
    for path, operator, occurrence in choices:
        mutant = made(path.relative_to(ROOT).as_posix(), operator, occurrence)
        if mutant is not None and tests_of(mutant, covered):
            mutants.append(mutant)
        if len(mutants) == NUMBER:
            break
    return mutants


def places(path: Path) -> Iterator[tuple[Path, str, int]]:
    """Yield each place of a file that an operator can change: the operator, and its number among those of it."""
    nodes = list(ast_nodes(get_ast(path.read_text())))
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        number = sum(1 for node in nodes for _ in operator.mutation_positions(node))
        yield from ((path, name, occurrence) for occurrence in range(number))


def mutated(code: str, operator: str, occurrence: int) -> str | None:
    """Return code with one of its places changed by an operator, None where there is no such place."""
    changed: str | None = MutationVisitor.mutate_code(code, get_operator(f"core/{operator}")(), occurrence)
    return changed


def made(path: str, operator: str, occurrence: int) -> Mutant | None:
    """Return a mutant, None where it is no code or changes no more than annotations, which nothing reads."""
    code = (ROOT / path).read_text()
    changed = mutated(code, operator, occurrence)
    if changed is None or meaning(changed) in ("", meaning(code)):
        return None
    lines = zip(code.splitlines(), changed.splitlines(), strict=False)
    before, after = next((old, new) for old, new in lines if old != new)
    return Mutant(path, operator, occurrence, before.strip(), after.strip())


def meaning(code: str) -> str:
    """Return code as its tree, without annotations; nothing for what is no code."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if hasattr(node, name):
                setattr(node, name, None)
    return ast.dump(tree)


def line_of(mutant: Mutant) -> int | None:
    """Return the number of the line that a mutant changes, None where that line is no longer there."""
    code = (ROOT / mutant.path).read_text()
    changed = mutated(code, mutant.operator, mutant.occurrence)
    if changed is None:
        return None
    lines = zip(code.splitlines(), changed.splitlines(), strict=False)
    number, old = next((number, old) for number, (old, new) in enumerate(lines, 1) if old != new)
    return number if old.strip() == mutant.before else None


def tests_of(mutant: Mutant, covered: coverage.CoverageData) -> list[str]:
    """Return the tests that run the line of a mutant."""
    number = line_of(mutant)
    contexts = covered.contexts_by_lineno(str(ROOT / mutant.path)).get(number, []) if number else []
    return sorted({name.partition("|")[0].partition("@")[0] for name in contexts if "::" in name})


def chosen(mutant: Mutant, covered: coverage.CoverageData, seconds: dict[str, float]) -> list[str]:
    """Return the tests for a mutant: those named as its module first, then the quickest, in the time they may take."""
    word = Path(mutant.path).stem.strip("_")
    tests = sorted(
        tests_of(mutant, covered), key=lambda test: (word not in test.partition("::")[0], seconds.get(test, 1))
    )
    left, some = SECONDS_OF_TESTS, []
    for test in tests:
        left -= seconds.get(test, 1.0) + 0.01
        if left < 0 and some:
            break
        some.append(test)
    return some[:400]


def outcome(mutant: Mutant, tests: list[str], tree: Path) -> str:
    """Return whether one of the tests fails where a copy of the checkout has the mutant."""
    path = tree / mutant.path
    code = path.read_text()
    changed = mutated(code, mutant.operator, mutant.occurrence)
    if changed is None or not tests:
        return "unknown"
    path.write_text(changed)
    options = ["-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--engines", "local", "--tb=no", "--timeout"]
    command = [sys.executable, "-m", "pytest", *options, str(SECONDS), *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "killed"  # the tests by themselves take less than half of it
    finally:
        path.write_text(code)
    return "killed" if done.returncode else "survives"  # also where the library can no longer be imported


def outcomes(mutants: list[Mutant], data: Path, durations: Path, processes: int) -> Iterator[Mutant]:
    """Yield mutants with what came of them."""
    covered, seconds = coverage.CoverageData(str(data)), read_durations([durations])
    covered.read()
    plans = [chosen(mutant, covered, seconds) for mutant in mutants]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(processes) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(processes):
            trees.put(copied(Path(folder) / str(number)))

        def tried(mutant: Mutant, tests: list[str]) -> Mutant:
            tree = trees.get()
            try:
                return replace(mutant, outcome=outcome(mutant, tests, tree))
            finally:
                trees.put(tree)

        yield from pool.map(tried, mutants, plans)


def copied(target: Path) -> Path:
    """Return a copy of what the tests need of the checkout."""
    ignored = shutil.ignore_patterns("__pycache__", ".*", "models", "out", "samples")
    return Path(shutil.copytree(ROOT, target, ignore=ignored))


def main() -> int:
    """Draw mutants or run those of the list; return 1 where one survives that was killed."""
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
        mutants = [mutant for line in LIST.read_text().splitlines() if (mutant := Mutant.parse(line)).counts]
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
