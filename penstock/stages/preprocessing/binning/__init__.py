"""Numbers put into bins."""
