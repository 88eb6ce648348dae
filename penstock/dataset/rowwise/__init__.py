"""Row-wise work on a dataset's columns: each operation a step, beside the mixin that offers them."""
