"""What evaluators learn from predictions: one family of metrics a module."""
