"""Naive Bayes: the stage, and what is learned of numbers and of a sparse vector."""
