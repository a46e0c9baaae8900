"""A trained model behind a local web page and an HTTP API."""

from edgnn.serve._limits import Limits
from edgnn.serve._model import Served
from edgnn.serve._server import create_app, serve

__all__ = [
    "Limits",
    "Served",
    "create_app",
    "serve",
]
