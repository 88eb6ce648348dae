"""What `benchmarks/gpu.py` runs: works on a GPU, on cores, and by cuDF, cuML and Polars by hand."""
