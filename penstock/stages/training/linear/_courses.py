"""Minimisations on ranks: begun anew or from a checkpoint, and telling how far they are."""

from __future__ import annotations

import numpy as np

from penstock.spmd import Rank
from penstock.stages.training.linear._quasi_newton import Course


def course_from(rank: Rank, start: np.ndarray) -> Course:
    """Return the course of the checkpoint that a rank goes on from; without one, that from `start`."""
    return Course.unpack(rank.checkpoint.data) if rank.checkpoint else Course(start)


def tell(rank: Rank, course: Course) -> None:
    """Report a step, and save a checkpoint where one is due."""
    rank.report(course.iterations, f"objective {course.history[-1]:.8g}")
    if course.iterations % rank.checkpoint_interval == 0:
        rank.save(course.iterations, course.pack())


def tell_end(rank: Rank, course: Course, why: str = "not converged") -> None:
    """Report a course that has not converged, and why."""
    if not course.converged:
        rank.report(course.iterations, f"objective {course.history[-1]:.8g}, {why}")
