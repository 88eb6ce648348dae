"""What Optuna does for a search: keep studies, say what to try next and what to stop, and draw what came of it."""
