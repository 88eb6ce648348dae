"""Columns projected on fewer."""
