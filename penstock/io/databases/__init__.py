"""Databases, asked through ADBC: what each has for types, names and values, and how its errors are told."""

from penstock.io.databases.base import Column, Database, Session
from penstock.io.databases.table import find_database

__all__ = ["Column", "Database", "Session", "find_database"]
