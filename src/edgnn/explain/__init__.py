"""Explanations of a prediction: leave-one-out, gradients, fidelity, counter-examples."""

from edgnn.explain._counter_example import Change, CounterExample, counter_example
from edgnn.explain._explain import explain
from edgnn.explain._explained import Explained, counter_text, fidelity_text
from edgnn.explain._explanation import Explanation, LabelEffect, Reason
from edgnn.explain._fidelity import Fidelity, fidelity
from edgnn.explain._names import BOND_LABELS, is_molecule, label_text, node_texts
from edgnn.explain._relations import Relation, relations_of
from edgnn.explain._subject import Subject, copies_allowed

__all__ = [
    "BOND_LABELS",
    "Change",
    "CounterExample",
    "Explained",
    "Explanation",
    "Fidelity",
    "LabelEffect",
    "Reason",
    "Relation",
    "Subject",
    "copies_allowed",
    "counter_example",
    "counter_text",
    "explain",
    "fidelity",
    "fidelity_text",
    "is_molecule",
    "label_text",
    "node_texts",
    "relations_of",
]
