"""How PyTorch modules are trained by all ranks, and what of them is kept."""
