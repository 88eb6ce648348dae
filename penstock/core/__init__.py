"""Words that every package shares: errors, schemas, selectors, sizes, names, locations, progress."""
