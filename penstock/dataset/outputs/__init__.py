"""How a write goes together with the output that is there: modes, what they keep of it, and merging by keys."""
