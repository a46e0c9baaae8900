"""Which nodes, edges and labels a prediction rests on: leave-one-out, integrated gradients, fidelity, counter-examples."""

from edgnn.explain._counter_example import Change, CounterExample, counter_example
from edgnn.explain._explain import explain
from edgnn.explain._explanation import Explanation, LabelEffect, Reason
from edgnn.explain._fidelity import Fidelity, fidelity

__all__ = [
    "Change",
    "CounterExample",
    "Explanation",
    "Fidelity",
    "LabelEffect",
    "Reason",
    "counter_example",
    "explain",
    "fidelity",
]
