"""Learning in closed form from how alike items are: kernels, what solves for them, and the classifiers made of both."""

from edgnn.kernels._blend import BlendGraphClassifier
from edgnn.kernels._classifier import KernelClassifier
from edgnn.kernels._ridge import FittedRidge, RidgeSolver
from edgnn.kernels._ridge_graphs import RidgeGraphClassifier
from edgnn.kernels._ridge_nodes import RidgeNodeClassifier
from edgnn.kernels._solvers import Solver, SVMSolver

__all__ = [
    "BlendGraphClassifier",
    "FittedRidge",
    "KernelClassifier",
    "RidgeGraphClassifier",
    "RidgeNodeClassifier",
    "RidgeSolver",
    "SVMSolver",
    "Solver",
]
