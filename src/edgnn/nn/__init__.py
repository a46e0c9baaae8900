"""Layers and models: the paper's equations as torch modules, for one model or many at once."""

from edgnn.nn._activation import ACTIVATIONS
from edgnn.nn._batch_norm import BatchNorm
from edgnn.nn._conv import Conv, Known
from edgnn.nn._gine_conv import GINEConv
from edgnn.nn._gnn_conv import EdGNNConv, GNNConv
from edgnn.nn._inputs import Inputs, Matrix, from_scipy, with_neighbors
from edgnn.nn._large_inputs import LargeInputs, input_bytes
from edgnn.nn._model import CONVS, Model, input_options
from edgnn.nn._models import GraphModel, NodeModel
from edgnn.nn._noise import Noise
from edgnn.nn._parameters import Linear
from edgnn.nn._readout import readout
from edgnn.nn._relational_conv import RelationalConv

__all__ = [
    "ACTIVATIONS",
    "CONVS",
    "BatchNorm",
    "Conv",
    "EdGNNConv",
    "GINEConv",
    "GNNConv",
    "GraphModel",
    "Inputs",
    "Known",
    "LargeInputs",
    "Linear",
    "Matrix",
    "Model",
    "NodeModel",
    "Noise",
    "RelationalConv",
    "from_scipy",
    "input_bytes",
    "input_options",
    "readout",
    "with_neighbors",
]
