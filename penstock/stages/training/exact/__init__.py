"""Rows that ranks keep in memory, and sums over them that are exact: what several families train on."""
