"""A session of Spark Connect, whose JVM is a server: jobs are made of data frames that Python workers map in Arrow."""
