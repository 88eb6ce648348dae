"""A Spark session whose JVM this process drives: jobs are made of RDDs."""
