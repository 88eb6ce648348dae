"""Clusters: the stages, their rows in memory, and the steps of Lloyd's algorithm and of the mixture."""
