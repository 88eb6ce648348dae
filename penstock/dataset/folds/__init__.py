"""Folds: rows dealt into blocks, and the training and validation sets that are made of blocks."""
