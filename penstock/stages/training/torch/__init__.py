"""Neural networks: the stages, and PyTorch's part in training them on ranks."""
