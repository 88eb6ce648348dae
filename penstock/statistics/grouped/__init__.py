"""Statistics of sets of rows: slices, folds, replicates, and the groups of a key."""
