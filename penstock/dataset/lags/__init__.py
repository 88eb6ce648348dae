"""Values of earlier rows of a group, by the order of a column."""
