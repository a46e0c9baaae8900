"""Which nodes, edges and labels a prediction rests on: leave-one-out, integrated gradients, fidelity, counter-examples."""

from edgnn.explain._counter_example import Change, CounterExample, counter_example
from edgnn.explain._explain import explain
from edgnn.explain._explanation import Explanation, LabelEffect, Reason
from edgnn.explain._fidelity import Fidelity, fidelity
from edgnn.explain._subject import Subject
from edgnn.explain._values import copies_allowed

__all__ = [
    "Change",
    "CounterExample",
    "Explanation",
    "Fidelity",
    "LabelEffect",
    "Reason",
    "Subject",
    "copies_allowed",
    "counter_example",
    "explain",
    "fidelity",
]
