"""Estimators of scikit-learn and cuML: the stage, and how they are described, fitted, stored and scored."""
