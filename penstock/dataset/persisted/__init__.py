"""Datasets whose rows are held once they are read: as they are stored, or as steps have prepared them."""
