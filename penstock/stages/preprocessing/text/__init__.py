"""Words, and vectors of words."""
