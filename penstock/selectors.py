"""Columns chosen by what they are, where users import them from."""

from penstock.core.selectors import Columns, Selector, all, as_selector, is_numeric, named, numeric, resolve, string

__all__ = ["Columns", "Selector", "all", "as_selector", "is_numeric", "named", "numeric", "resolve", "string"]
