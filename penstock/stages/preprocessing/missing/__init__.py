"""Nulls: filled, marked, dropped."""
