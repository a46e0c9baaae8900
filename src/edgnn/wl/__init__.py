"""Color refinement of directed labeled graphs: certificates, isomorphism, features and kernels."""

from typing import TYPE_CHECKING, Any

from edgnn.wl._coloring import Coloring, bare, refine, round_number
from edgnn.wl._compare import (
    ColorCount,
    Power,
    Verdict,
    ceiling,
    classes,
    compare,
    graph_classes,
    power,
)
from edgnn.wl._discretize import Discretizer
from edgnn.wl._extend import signatures
from edgnn.wl._isomorphism import isomorphic, isomorphism
from edgnn.wl._meaning import Meaning
from edgnn.wl._neighborhood import Direction, Neighborhood, Scheme
from edgnn.wl._refine import Refinement

if TYPE_CHECKING:
    from edgnn.wl._features import WLKernel, WLVectorizer, color_counts

__all__ = [
    "ColorCount",
    "Coloring",
    "Direction",
    "Discretizer",
    "Meaning",
    "Neighborhood",
    "Power",
    "Refinement",
    "Scheme",
    "Verdict",
    "WLKernel",
    "WLVectorizer",
    "bare",
    "ceiling",
    "classes",
    "color_counts",
    "compare",
    "graph_classes",
    "isomorphic",
    "isomorphism",
    "power",
    "refine",
    "round_number",
    "signatures",
]


def __getattr__(name: str) -> Any:
    if name in ("WLKernel", "WLVectorizer", "color_counts"):  # these load scikit-learn and scipy
        from edgnn.wl import _features

        return getattr(_features, name)
    raise AttributeError(f"module 'edgnn.wl' has no attribute {name!r}")
