"""Columns chosen by what they tell."""
