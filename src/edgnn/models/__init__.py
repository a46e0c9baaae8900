"""Every model, with one life cycle: networks, closed forms and the rivals of the paper's tables."""

from edgnn.errors import EstimatorError
from edgnn.models._coder import Coder, Seen, UnknownLabelWarning
from edgnn.models._familiarity import Familiarity, Refinement
from edgnn.models._fingerprint import fingerprint
from edgnn.models._finite import check_outputs
from edgnn.models._items import Items, graphs_of, in_pieces
from edgnn.models._majority import MajorityClassifier, MeanRegressor
from edgnn.models._make import default_model, make_model, model_parts, network_parameters
from edgnn.models._model import (
    ClassifierModel,
    Model,
    NotFitted,
    RegressorModel,
    load_model,
    replace_model,
    write_model,
)
from edgnn.models._predict_table import (
    TablePiece,
    finite_parts,
    first_new_rounds,
    predict_table,
    table_piece,
    unread_errors,
    unseen_labels,
)
from edgnn.models._predictions import (
    Predictions,
    check_known,
    identities,
    prediction_columns,
    prediction_table,
)
from edgnn.models._probabilities import (
    Uncertainty,
    probabilities,
)
from edgnn.models._runs import (
    Answer,
    change_epochs,
    check_data,
    check_ranks,
    checkpoint_epoch,
    estimator_of,
    finished,
    memory_errors,
    start_run,
    train_run,
)
from edgnn.models._table_files import check_table_file, csv_rows, write_columns, write_table
from edgnn.models._targets import decide, shaped
from edgnn.models.counts._auto import AutoClassifier, AutoRegressor
from edgnn.models.counts._count_table import CountTable
from edgnn.models.counts._reasons import Contributions, Rule, Similar
from edgnn.models.kernels import (
    BlendGraphClassifier,
    FittedRidge,
    KernelClassifier,
    RidgeGraphClassifier,
    RidgeNodeClassifier,
    RidgeSolver,
    Solver,
    SVMSolver,
    WLClassifier,
)
from edgnn.models.networks import (
    Estimator,
    GraphClassifier,
    GraphRegressor,
    NodeClassifier,
    NodeRegressor,
)
from edgnn.models.networks._export import Exported, export, write_inputs
from edgnn.models.networks._export_check import ProgramCheck
from edgnn.models.networks._fleet import device_of, rebuilt
from edgnn.models.networks._pipeline import is_small
from edgnn.models.rivals import (
    ECFPClassifier,
    ECFPRegressor,
    GINGraphClassifier,
    GINNodeClassifier,
    PartCounts,
    RDF2Vec,
    RDF2VecClassifier,
    RDFWLClassifier,
    RGCNGraphClassifier,
    RGCNNodeClassifier,
    SubgraphMatchingClassifier,
    UnseenNodeWarning,
    WLShortestPathClassifier,
    random_walks,
    subgraph_counts,
)

__all__ = [
    "Answer",
    "AutoClassifier",
    "AutoRegressor",
    "BlendGraphClassifier",
    "ClassifierModel",
    "Coder",
    "Contributions",
    "CountTable",
    "ECFPClassifier",
    "ECFPRegressor",
    "Estimator",
    "EstimatorError",
    "Exported",
    "Familiarity",
    "FittedRidge",
    "GINGraphClassifier",
    "GINNodeClassifier",
    "GraphClassifier",
    "GraphRegressor",
    "Items",
    "KernelClassifier",
    "MajorityClassifier",
    "MeanRegressor",
    "Model",
    "NodeClassifier",
    "NodeRegressor",
    "NotFitted",
    "PartCounts",
    "Predictions",
    "ProgramCheck",
    "RDF2Vec",
    "RDF2VecClassifier",
    "RDFWLClassifier",
    "RGCNGraphClassifier",
    "RGCNNodeClassifier",
    "Refinement",
    "RegressorModel",
    "RidgeGraphClassifier",
    "RidgeNodeClassifier",
    "RidgeSolver",
    "Rule",
    "SVMSolver",
    "Seen",
    "Similar",
    "Solver",
    "SubgraphMatchingClassifier",
    "TablePiece",
    "Uncertainty",
    "UnknownLabelWarning",
    "UnseenNodeWarning",
    "WLClassifier",
    "WLShortestPathClassifier",
    "change_epochs",
    "check_data",
    "check_known",
    "check_outputs",
    "check_ranks",
    "check_table_file",
    "checkpoint_epoch",
    "csv_rows",
    "decide",
    "default_model",
    "device_of",
    "estimator_of",
    "export",
    "fingerprint",
    "finished",
    "finite_parts",
    "first_new_rounds",
    "graphs_of",
    "identities",
    "in_pieces",
    "is_small",
    "load_model",
    "make_model",
    "memory_errors",
    "model_parts",
    "network_parameters",
    "predict_table",
    "prediction_columns",
    "prediction_table",
    "probabilities",
    "random_walks",
    "rebuilt",
    "replace_model",
    "shaped",
    "start_run",
    "subgraph_counts",
    "table_piece",
    "train_run",
    "unread_errors",
    "unseen_labels",
    "write_columns",
    "write_inputs",
    "write_model",
    "write_table",
]
