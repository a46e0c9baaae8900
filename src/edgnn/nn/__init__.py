"""Layers and models: the paper's equations as torch modules, for one model or many at once."""

from edgnn.nn._activation import ACTIVATIONS
from edgnn.nn._batch_norm import BatchNorm
from edgnn.nn._conv import Conv, SummedStates
from edgnn.nn._edges import COUNTED_LABELS, Edges, ListedEdges, OneHot
from edgnn.nn._gine_conv import GINEConv
from edgnn.nn._gnn_conv import EdGNNConv, GNNConv
from edgnn.nn._inputs import Inputs, Matrix, from_scipy, with_neighbors
from edgnn.nn._large_inputs import LargeInputs, input_bytes
from edgnn.nn._layer_kind import ConvLike, LayerKind
from edgnn.nn._model import Model, input_options
from edgnn.nn._models import GraphModel, NodeModel, readout
from edgnn.nn._module_conv import ModuleConv
from edgnn.nn._noise import Noise, dropout
from edgnn.nn._parameters import Linear, parameter
from edgnn.nn._relational_conv import RelationalConv

__all__ = [
    "ACTIVATIONS",
    "COUNTED_LABELS",
    "BatchNorm",
    "Conv",
    "ConvLike",
    "EdGNNConv",
    "Edges",
    "GINEConv",
    "GNNConv",
    "GraphModel",
    "Inputs",
    "LargeInputs",
    "LayerKind",
    "Linear",
    "ListedEdges",
    "Matrix",
    "Model",
    "ModuleConv",
    "NodeModel",
    "Noise",
    "OneHot",
    "RelationalConv",
    "SummedStates",
    "dropout",
    "from_scipy",
    "input_bytes",
    "input_options",
    "parameter",
    "readout",
    "with_neighbors",
]
