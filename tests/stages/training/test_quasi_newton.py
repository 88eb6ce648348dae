"""The minimiser: known minima, closed forms, the same path after a checkpoint."""

import numpy as np
import pytest

from penstock.stages.training.linear._quasi_newton import Course, minimise

N = 12


@pytest.fixture(scope="module")
def quadratic() -> tuple[np.ndarray, np.ndarray]:
    """Return a positive definite matrix of condition 1e4, and a vector."""
    draw = np.random.default_rng(5)
    basis, _ = np.linalg.qr(draw.normal(size=(N, N)))
    return basis * np.geomspace(1e-2, 1e2, N) @ basis.T, draw.normal(size=N)


def of_quadratic(matrix: np.ndarray, target: np.ndarray):
    """Return an objective whose minimum, at `target`, is 1."""

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = matrix @ (x - target)
        return 1.0 + float((x - target) @ gradient) / 2, gradient

    return objective


def run(objective, *, start=None, l1: float | np.ndarray = 0.0, tol=1e-10, max_iter=2000, **options) -> Course:
    start = np.zeros(N) if start is None else start
    weights = np.broadcast_to(np.asarray(l1, dtype=float), start.shape)
    return minimise(objective, Course(start), l1=weights, tol=tol, max_iter=max_iter, **options)


def test_the_minimum_of_a_quadratic_is_found(quadratic) -> None:
    matrix, target = quadratic
    course = run(of_quadratic(matrix, target))
    assert course.converged
    assert course.iterations == len(course.history) - 1 < 500
    np.testing.assert_allclose(course.x, target, atol=1e-7)


def test_a_minimum_of_0_is_reached_to_a_tolerance_of_its_own(quadratic) -> None:
    matrix, target = quadratic

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = matrix @ (x - target)
        return float((x - target) @ gradient) / 2, gradient

    course = run(objective, tol=1e-6, floor=-np.inf, measure=1.0)
    assert course.converged
    assert np.abs(matrix @ (course.x - target)).max() <= 1e-6
    assert course.history[-1] < 1e-9


def test_with_the_inverse_of_the_hessian_one_step_reaches_the_minimum_of_a_quadratic(quadratic) -> None:
    matrix, target = quadratic
    inverse = np.linalg.inv(matrix)
    course = run(of_quadratic(matrix, target), inverse=lambda vector: inverse @ vector)
    assert (course.converged, course.iterations) == (True, 1)
    np.testing.assert_allclose(course.x, target, atol=1e-9)


@pytest.mark.thorough
def test_an_inverse_that_is_wrong_costs_steps_and_no_digits(quadratic) -> None:
    matrix, target = quadratic
    course = run(of_quadratic(matrix, target), inverse=lambda vector: np.geomspace(0.1, 10, N) * vector)
    assert course.converged
    np.testing.assert_allclose(course.x, target, atol=1e-7)


def test_the_valley_of_rosenbrock_is_followed_to_its_end() -> None:
    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        bend = x[1] - x[0] ** 2
        gradient = np.array([-400 * x[0] * bend - 2 * (1 - x[0]), 200 * bend])
        return 1.0 + 100 * bend**2 + (1 - x[0]) ** 2, gradient

    course = run(objective, start=np.array([-1.2, 1.0]))
    assert course.converged
    np.testing.assert_allclose(course.x, [1.0, 1.0], atol=1e-8)


def test_an_l1_penalty_shrinks_by_the_closed_form() -> None:
    target = np.array([3.0, -2.0, 0.4, -0.1, 0.0])
    course = run(of_quadratic(np.eye(5), target), start=np.zeros(5), l1=0.5)
    assert course.converged
    np.testing.assert_allclose(course.x, [2.5, -1.5, 0.0, 0.0, 0.0], atol=1e-9)
    assert (course.x[2:] == 0.0).all()  # and not merely small


def test_an_l1_penalty_of_its_own_for_each_parameter(quadratic) -> None:
    matrix, target = quadratic
    l1 = np.where(np.arange(N) % 3, 0.3, 0.0)
    course = run(of_quadratic(matrix, target), l1=l1, tol=1e-9)
    assert course.converged
    gradient = matrix @ (course.x - target)
    zero = course.x == 0.0
    assert 0 < zero.sum() < N
    # The conditions of Karush, Kuhn and Tucker are those of a minimum.
    np.testing.assert_allclose(gradient[~zero], -l1[~zero] * np.sign(course.x[~zero]), atol=1e-7)
    assert (np.abs(gradient[zero]) <= l1[zero] + 1e-12).all()


@pytest.mark.thorough
def test_the_objective_never_rises(quadratic) -> None:
    matrix, target = quadratic
    history = np.array(run(of_quadratic(matrix, target), l1=0.05).history)
    assert (np.diff(history) <= 1e-12 * history[:-1]).all()
    assert history[-1] < history[0]


def test_a_start_at_the_minimum_takes_no_step(quadratic) -> None:
    matrix, target = quadratic
    course = run(of_quadratic(matrix, target), start=target)
    assert (course.converged, course.iterations, course.history) == (True, 0, [1.0])


def test_too_few_steps_are_told(quadratic) -> None:
    course = run(of_quadratic(*quadratic), max_iter=3)
    assert (course.converged, course.iterations) == (False, 3)


def test_an_objective_that_falls_to_its_floor_ends_without_convergence() -> None:
    def decay(x: np.ndarray) -> tuple[float, np.ndarray]:
        value = float(np.exp(-x[0]))
        return value, np.array([-value])

    course = run(decay, start=np.zeros(1), floor=1e-12)
    assert not course.converged
    assert course.history[-1] <= 1e-12 < course.history[-2]


def test_a_gradient_that_leads_nowhere_ends() -> None:
    course = run(lambda x: (1.0 + 100 * float(np.abs(x).sum()), np.ones(2)), start=np.zeros(2))
    assert (course.converged, course.iterations) == (False, 0)


@pytest.mark.thorough
def test_going_on_from_a_checkpoint_is_the_same_path_to_the_bit(quadratic) -> None:
    objective = of_quadratic(*quadratic)
    for l1 in (0.0, 0.2):
        kept: dict[int, bytes] = {}
        whole = run(objective, l1=l1, after=lambda course, kept=kept: kept.update({course.iterations: course.pack()}))
        for at in (1, 7, 15):
            begun = Course.unpack(kept[at])
            resumed = minimise(objective, begun, l1=np.full(N, l1), tol=1e-10, max_iter=2000)
            assert resumed == whole
            assert resumed.iterations == whole.iterations > at
