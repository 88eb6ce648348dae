"""Penstock inside other tools, a package for each.

`sklearn` has estimators of scikit-learn's interface, `airflow` an operator and a decorator for tasks.
"""
