"""Inference: networks that were trained elsewhere, run in batches on every worker."""
