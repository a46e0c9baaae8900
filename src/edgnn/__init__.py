"""Learning from directed graphs with node and edge labels: Weisfeiler-Lehman, edGNN and their rivals."""
