"""Training that iterates: one body on every rank at the same time, watched, and started again when a rank is lost."""

from penstock.spmd.alone import rank_alone, run_alone, train_in_process
from penstock.spmd.assignment import Assignment, Body, RankAssignment
from penstock.spmd.communicator import Communicator
from penstock.spmd.gang import Launch, Launcher, run_gang
from penstock.spmd.options import SpmdOptions
from penstock.spmd.prepared import PreparedInputs
from penstock.spmd.rank import Rank
from penstock.spmd.recorded import train
from penstock.spmd.worker import run_rank
from penstock.spmd.xgboost_ports import refuse_ports

__all__ = [
    "Assignment",
    "Body",
    "Communicator",
    "Launch",
    "Launcher",
    "PreparedInputs",
    "Rank",
    "RankAssignment",
    "SpmdOptions",
    "rank_alone",
    "refuse_ports",
    "run_alone",
    "run_gang",
    "run_rank",
    "train",
    "train_in_process",
]
