"""Searches as their pages take them: an ordinary one, one of each kind of trial, and one with names of no good will."""

import numpy as np
import report_samples as samples

from penstock.report.page import render_sections
from penstock.report.trials.sections import search_sections
from penstock.report.trials.trial_rows import TrialRow, TrialRows


def search(trials: int = 120) -> TrialRows:
    """Return a search whose metric has its maximum of 0.85 at a learning rate of 0.05 and a depth of 4."""
    generator = np.random.default_rng(5)
    rows = []
    for number in range(trials):
        rate = float(np.exp(generator.uniform(np.log(0.01), np.log(0.3)) * (0.6 if number > 40 else 1)))
        depth = int(generator.integers(1, 9))
        params = {
            "XGBoostClassifier.learning_rate": min(rate, 0.3),
            "XGBoostClassifier.max_depth": depth,
            "XGBoostClassifier.num_boost_round": int(generator.integers(1, 9)) * 50,
            "Imputer.strategy": ["mean", "median"][number % 2],
            "StringIndexer.min_frequency": [5, 15, 50][number % 3],
        }
        value = 0.85 - 0.01 * np.log(rate / 0.05) ** 2 - 0.002 * (depth - 4) ** 2
        rows.append(TrialRow(number, params, "complete", value, [value + step / 100 for step in (-2, -1, 0, 1, 2)]))
    importances = {
        "XGBoostClassifier.learning_rate": 0.62,
        "XGBoostClassifier.max_depth": 0.3,
        "XGBoostClassifier.num_boost_round": 0.05,
        "StringIndexer.min_frequency": 0.02,
        "Imputer.strategy": 0.01,
    }
    return TrialRows("boosted.areaUnderROC", True, rows, importances)


def uneven() -> TrialRows:
    """Return a search with failures, trials that were stopped, some far off, some on fewer rows, and whole stages."""
    rows = []
    for number in range(40):
        model = f"{'LogisticRegression' if number % 3 else 'XGBoostClassifier'}(label='bought', weight='w')"
        params: dict[str, object] = {"model": model, "scale": None if number % 4 else "StandardScaler(columns=['x'])"}
        params |= {"model.reg_param": 10.0 ** -(number % 7)} if number % 3 else {"model.max_depth": number % 5 + 2}
        state = {5: "failed", 6: "pruned"}.get(number % 10, "complete")
        value = None if state != "complete" else 900.0 if number == 8 else 2.0 + (number % 9) / 10
        reason = "DataValueError: column 'x' has 34 values that are null, expected no nulls (stage 'model')"
        folds = [] if value is None else [value - 0.2, value, value + 0.2]
        rows.append(
            TrialRow(
                number, params, state, value, folds, reason if state == "failed" else None, competes=number % 11 != 0
            )
        )
    return TrialRows("rmse", False, rows)


def hostile_search() -> TrialRows:
    """Return a search whose names, values and reasons are such as nobody should write."""
    rows = [
        TrialRow(number, {str(text): text, "model.x": 1e300 * number}, "failed" if number % 2 else "complete",
                 None if number % 2 else float(number), [float(number)] * 3, reason=str(text))
        for number, text in enumerate(samples.HOSTILE)
    ]  # fmt: skip
    return TrialRows("<b>metric</b>\u202e", True, rows, {str(text): 0.1 for text in samples.HOSTILE})


def empty() -> TrialRows:
    """Return a search of one trial."""
    return TrialRows("rmse", False, [TrialRow(0, {"model.x": 1}, "complete", 0.5, [0.5])])


def render(trials: TrialRows) -> str:
    """Return the page of a search alone."""
    return render_sections("Search", search_sections(trials), title="A search", details={"Trials": len(trials.rows)})
