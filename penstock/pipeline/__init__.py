"""Stages in order: planned in as few scans as possible, fitted, explained, applied to frames and to rows."""

from penstock.pipeline.pipeline import Pipeline, PipelineModel

__all__ = ["Pipeline", "PipelineModel"]
