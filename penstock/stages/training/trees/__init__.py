"""Boosted trees and forests: the stages, the model that they share, and XGBoost's part in training."""
