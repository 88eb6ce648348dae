"""One script a contender."""
