"""Whether rows are still as a model has known them: a profile kept with it, compared with the rows of today."""
