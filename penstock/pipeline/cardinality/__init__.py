"""How the values of columns are counted: how many are expected, the memory for it, and a way for each column."""

from penstock.pipeline.cardinality.columns import ColumnCount, CountKey
from penstock.pipeline.cardinality.plan import CountOptions, CountPlan, plan_counts

__all__ = ["ColumnCount", "CountKey", "CountOptions", "CountPlan", "plan_counts"]
