"""Estimators of scikit-learn: of which kind they are, how they are fitted, scored and stored."""
