"""Numbers made of numbers."""
