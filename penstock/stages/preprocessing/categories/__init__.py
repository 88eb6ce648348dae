"""Categories as numbers."""
