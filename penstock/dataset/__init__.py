"""Rows to be read, the steps over them, and the tasks that an engine runs on their fragments."""

from penstock.dataset.dataset import Dataset

__all__ = ["Dataset"]
