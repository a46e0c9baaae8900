"""Color refinement of directed labeled graphs: exact, fast, with certificates, features and kernels."""

from typing import TYPE_CHECKING, Any

from edgnn.wl._coloring import Coloring, refine
from edgnn.wl._compare import ColorCount, Verdict, classes, compare, graph_classes
from edgnn.wl._discretize import Discretizer
from edgnn.wl._isomorphism import isomorphic, isomorphism
from edgnn.wl._meaning import Meaning
from edgnn.wl._power import Power, power
from edgnn.wl._signatures import signatures

if TYPE_CHECKING:
    from edgnn.wl._features import WLKernel, WLVectorizer

from edgnn.wl._coloring import bare
from edgnn.wl._neighborhood import Scheme
from edgnn.wl._power import ceiling

__all__ = [
    "ColorCount",
    "Coloring",
    "Discretizer",
    "Meaning",
    "Power",
    "Scheme",
    "Verdict",
    "WLKernel",
    "WLVectorizer",
    "bare",
    "ceiling",
    "classes",
    "compare",
    "graph_classes",
    "isomorphic",
    "isomorphism",
    "power",
    "refine",
    "signatures",
]


def __getattr__(name: str) -> Any:
    if name in ("WLKernel", "WLVectorizer"):  # these load scikit-learn, the rest does not
        from edgnn.wl import _features

        return getattr(_features, name)
    raise AttributeError(f"module 'edgnn.wl' has no attribute {name!r}")
