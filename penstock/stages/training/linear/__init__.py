"""Linear models: the stages, what each asks of features, and the minimisations behind them."""
