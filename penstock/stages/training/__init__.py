"""Stages that learn by iterating, on every rank at the same time."""
