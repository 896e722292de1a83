"""Training steps of JAX as graphs for the partitioner."""
