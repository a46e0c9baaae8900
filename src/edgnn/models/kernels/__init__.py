"""Closed forms: kernels of colors, what learns from them, and the classifiers made of both."""

from edgnn.models.kernels._blend import BlendGraphClassifier
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._ridge import FittedRidge, RidgeSolver
from edgnn.models.kernels._ridge_graphs import RidgeGraphClassifier
from edgnn.models.kernels._ridge_nodes import RidgeNodeClassifier
from edgnn.models.kernels._solvers import Solver, SVMSolver
from edgnn.models.kernels._wl import WLClassifier

__all__ = [
    "BlendGraphClassifier",
    "FittedRidge",
    "KernelClassifier",
    "RidgeGraphClassifier",
    "RidgeNodeClassifier",
    "RidgeSolver",
    "SVMSolver",
    "Solver",
    "WLClassifier",
]
