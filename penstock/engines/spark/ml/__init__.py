"""Estimators of Spark ML on datasets: they are fitted and score as jobs of Spark, and are kept as their own files."""
