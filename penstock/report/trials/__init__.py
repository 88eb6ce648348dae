"""Figures of a search: its trials over time, by parameter and by fold."""
