"""What the Hessian of a log loss looks like before anything is learned: where a minimisation may start to look.

At the start every row has the same probabilities, so that the Hessian of each output is a number times the second
moments of the features, which one scan of the data tells. Steps that are taken through its inverse meet a problem that
is round already: of correlated features a fraction of the evaluations is left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.stages.training.exact.design import Scaling

_RIDGE = 1e-8
"""Added to second moments of standardised features, which are 1 but for collinear and constant ones."""
_MOST = 2**28
"""Up to so many operations are spent on the inverses; of more features a gradient is the better direction."""


def second_moments(covariance: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Return the means of products of standardised features, and of the one of the intercept, which is last.

    Parameters
    ----------
    covariance : numpy.ndarray of shape (features, features)
        Of the features as they are, in the population; weighted, as the means are, where rows have weights.
    scaling : Scaling

    Examples
    --------
    >>> one = np.ones(1)
    >>> second_moments(4 * one[:, None], Scaling(one, 2 * one, -one, one))
    array([[1., 0.],
           [0., 1.]])
    """
    offset = np.append((scaling.mean - scaling.shift) / scaling.divisor, [1.0] * scaling.intercept)
    moments = np.outer(offset, offset)
    moments[: len(covariance), : len(covariance)] += covariance / scaling.divisor[:, None] / scaling.divisor
    return moments


def affordable(outputs: int, width: int) -> bool:
    """Return whether inverses for so many outputs, of so many parameters each, are worth their time."""
    return outputs * width**3 <= _MOST


def inverse_hessian(moments: np.ndarray, probabilities: np.ndarray, l2: np.ndarray) -> np.ndarray:
    """Return about the inverse of the Hessian of the mean log loss with an L2 penalty, a block for each output.

    Parameters
    ----------
    moments : numpy.ndarray of shape (width, width)
        The second moments of the features.
    probabilities : numpy.ndarray of shape (classes,)
        Of each class, in all rows. Two classes have one output.
    l2 : numpy.ndarray of shape (outputs, width)
        The weights of the squares in the penalty.

    Returns
    -------
    numpy.ndarray of shape (outputs, width, width)
        Without a penalty, and of gradients whose sum over the outputs is 0 as it is with more than one of them, exactly
        an inverse, up to the ridge that keeps collinear features apart.

    Examples
    --------
    >>> inverse_hessian(np.array([[2.0]]), np.array([0.5, 0.5]), np.array([[0.5]])).round(6)
    array([[[1.]]])
    """
    curvatures = _curvatures(probabilities, len(l2))
    ridged = moments + _RIDGE * np.eye(len(moments))
    return np.stack([_inverse(c * ridged + np.diag(row)) for c, row in zip(curvatures, l2, strict=True)])


def diagonal_inverse(moments: np.ndarray, probabilities: np.ndarray, l2: np.ndarray) -> np.ndarray:
    """Return the inverses of the diagonal of that Hessian, of the shape of `l2`.

    Parameters
    ----------
    moments : numpy.ndarray of shape (width,)
        The means of the squares of the features, above 0.

    Examples
    --------
    >>> diagonal_inverse(np.array([2.0]), np.array([0.5, 0.5]), np.array([[0.5]]))
    array([[1.]])
    """
    return 1.0 / (_curvatures(probabilities, len(l2))[:, None] * moments + l2)


def _curvatures(probabilities: np.ndarray, outputs: int) -> np.ndarray:
    """Return the second derivative of the log loss by the margin of each output."""
    return probabilities[:1] * (1.0 - probabilities[:1]) if outputs == 1 else probabilities


def times(blocks: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what multiplies the parameters of all outputs, one after the other, by a block each.

    Examples
    --------
    >>> times(np.array([[[2.0]], [[3.0]]]))(np.array([1.0, 1.0]))
    array([2., 3.])
    """
    return lambda vector: (blocks * vector.reshape(len(blocks), 1, -1)).sum(axis=2).ravel()


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix by Gauss-Jordan elimination.

    LAPACK's last digits depend on the processor: ranks of different machines have to take the same steps, to the bit.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    swept = matrix * scale * scale[:, None]
    for place in range(len(swept)):
        pivot, column = swept[place, place], swept[:, place].copy()
        row = swept[place] / pivot
        swept -= column[:, None] * row
        swept[place], swept[:, place] = row, -column / pivot
        swept[place, place] = 1.0 / pivot
    return (swept + swept.T) / 2 * scale * scale[:, None]
