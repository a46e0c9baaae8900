"""Import of optional packages with an error that says how to install them."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from edgnn.errors import MissingDependencyError

_EXTRA_OF = {
    "distributed": "cluster",
    "fastapi": "serve",
    "gensim": "rdf2vec",
    "grakel": "kernels",
    "networkx": "networkx",
    "pooch": "data",
    "pyarrow": "tables",
    "pyoxigraph": "rdf",
    "python_multipart": "serve",
    "rdkit": "molecules",
    "requests": "data",
    "torch_geometric": "pyg",
    "urllib3": "data",
    "uvicorn": "serve",
}


def optional(module: str, purpose: str) -> Any:
    """Import a module, or raise an error that names the purpose and the extra to install."""
    loaded = sys.modules.get(module)
    # readers ask several times per molecule, and the import system takes longer to answer
    spec = getattr(loaded, "__spec__", None)
    if loaded is not None and not getattr(spec, "_initializing", False):
        return loaded
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        extra = _EXTRA_OF[package]
        raise MissingDependencyError(
            f"{purpose} needs the package '{package}', which cannot be imported ({error}); "
            f"install it with: pip install 'edgnn[{extra}]'"
        ) from error
