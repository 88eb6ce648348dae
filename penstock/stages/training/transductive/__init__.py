"""Estimators that say something of the rows they are fitted on: the stage that is trained, and what it takes."""
