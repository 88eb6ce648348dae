"""Estimators of Spark ML: the stage, and what is known of an estimator in plain values."""
