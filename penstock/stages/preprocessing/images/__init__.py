"""Images decoded into arrays."""
