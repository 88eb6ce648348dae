"""Statistics of very many different values: how their states are partitioned, and how many values there are."""
