"""Columns brought to comparable scales."""
