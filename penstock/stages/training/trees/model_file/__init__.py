"""What an XGBoost model file must be before XGBoost may see it."""
