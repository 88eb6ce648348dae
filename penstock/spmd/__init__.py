"""Training that iterates: one body on every rank at the same time, watched, and started again when a rank is lost."""

from penstock.spmd.gang import Launch, Launcher, run_gang
from penstock.spmd.options import SpmdOptions
from penstock.spmd.rank import Body, Rank, Work, run_alone, run_rank

__all__ = ["Body", "Launch", "Launcher", "Rank", "SpmdOptions", "Work", "run_alone", "run_gang", "run_rank"]
