"""Learning from directed graphs with node and edge labels: edGNN, Weisfeiler-Lehman, rivals.

Public names are loaded on first use, so that ``import edgnn`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgnn import (
        errors,
        evaluation,
        explain,
        graphs,
        io,
        models,
        nn,
        report,
        serve,
        studies,
        theory,
        training,
        wl,
    )
    from edgnn.evaluation import train
    from edgnn.graphs import UNKNOWN, Graphs, Nodes, Structure, Vocabulary
    from edgnn.io import (
        Dataset,
        Labeled,
        from_networkx,
        from_pyg,
        from_sdf,
        from_smiles,
        load_dataset,
        read,
        read_labeled,
        to_networkx,
        to_pyg,
        write,
    )
    from edgnn.models import (
        GraphClassifier,
        GraphRegressor,
        NodeClassifier,
        NodeRegressor,
        RidgeGraphClassifier,
        RidgeNodeClassifier,
    )

__version__ = "0.1.0.dev0"

_HOME = {
    "AutoClassifier": "models",
    "AutoRegressor": "models",
    "UNKNOWN": "graphs",
    "Dataset": "io",
    "GraphClassifier": "models",
    "GraphRegressor": "models",
    "Graphs": "graphs",
    "Labeled": "io",
    "NodeClassifier": "models",
    "NodeRegressor": "models",
    "Nodes": "graphs",
    "RidgeGraphClassifier": "models",
    "RidgeNodeClassifier": "models",
    "Structure": "graphs",
    "Vocabulary": "graphs",
    "from_networkx": "io",
    "from_pyg": "io",
    "from_sdf": "io",
    "from_smiles": "io",
    "load_dataset": "io",
    "read": "io",
    "read_labeled": "io",
    "to_networkx": "io",
    "to_pyg": "io",
    "train": "evaluation",
    "write": "io",
}
_PACKAGES = (
    "errors",
    "evaluation",
    "explain",
    "graphs",
    "io",
    "models",
    "nn",
    "report",
    "serve",
    "studies",
    "theory",
    "training",
    "wl",
)

__all__ = [
    "UNKNOWN",
    "AutoClassifier",
    "AutoRegressor",
    "Dataset",
    "GraphClassifier",
    "GraphRegressor",
    "Graphs",
    "Labeled",
    "NodeClassifier",
    "NodeRegressor",
    "Nodes",
    "RidgeGraphClassifier",
    "RidgeNodeClassifier",
    "Structure",
    "Vocabulary",
    "__version__",
    "errors",
    "evaluation",
    "explain",
    "from_networkx",
    "from_pyg",
    "from_sdf",
    "from_smiles",
    "graphs",
    "io",
    "load_dataset",
    "models",
    "nn",
    "read",
    "read_labeled",
    "report",
    "serve",
    "studies",
    "theory",
    "to_networkx",
    "to_pyg",
    "train",
    "training",
    "wl",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"edgnn.{name}")
    if name in _HOME:
        value = getattr(import_module(f"edgnn.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'edgnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({name for name in globals() if name.startswith("__")}.union(__all__))
