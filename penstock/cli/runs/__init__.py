"""Commands about records of runs: a list by any field, one of them with its page and its trace, two side by side."""
