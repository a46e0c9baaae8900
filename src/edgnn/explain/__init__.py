"""Which nodes, edges and labels a prediction rests on: leave-one-out, integrated gradients, fidelity, counter-examples."""
