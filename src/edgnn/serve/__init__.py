"""A trained model behind a local web page and an HTTP API."""

from edgnn.serve._limits import Limits
from edgnn.serve._model import Served
from edgnn.serve._server import LOCAL_NAMES, address_of, create_app, listening, names_of, serve

__all__ = [
    "LOCAL_NAMES",
    "Limits",
    "Served",
    "address_of",
    "create_app",
    "listening",
    "names_of",
    "serve",
]
