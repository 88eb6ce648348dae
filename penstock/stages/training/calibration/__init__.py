"""What is learned from scores and labels alone: monotone functions, probabilities, thresholds."""
