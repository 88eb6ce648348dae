"""Models that learn on: statistics that are kept, merged with those of other rows, and what depends on what."""
