"""Search over the parameters of a whole pipeline: spaces, trials, folds, and what comes after."""
