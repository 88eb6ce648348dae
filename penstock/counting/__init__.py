"""How the values of columns are counted: how many are expected, the memory for it, and a way for each column."""

from penstock.counting.columns import ColumnCount, CountKey
from penstock.counting.options import CountOptions
from penstock.counting.plan import CountPlan, plan_counts

__all__ = ["ColumnCount", "CountKey", "CountOptions", "CountPlan", "plan_counts"]
