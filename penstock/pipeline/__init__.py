"""Stages in order: planned in as few scans as possible, fitted, explained, applied to frames and to rows."""

from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline

__all__ = ["Pipeline", "PipelineModel"]
