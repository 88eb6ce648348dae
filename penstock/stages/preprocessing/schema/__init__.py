"""Columns cast, renamed, chosen and dropped."""
