"""Lists of a fixed length."""
