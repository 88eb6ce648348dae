"""What Optuna does for a search: keep studies, say what to try next and what to stop, and draw what came of it."""

import warnings

with warnings.catch_warnings():  # of tqdm, that a notebook lacks widgets, of which nothing here makes use
    warnings.filterwarnings("ignore", message="IProgress not found")
    import optuna  # noqa: F401
