"""Estimators of cuML: the stage, the table of all that there are, and how what they learn becomes plain state."""
