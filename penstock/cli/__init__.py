"""The command line: options in, a request, a job that runs it, its result printed."""
