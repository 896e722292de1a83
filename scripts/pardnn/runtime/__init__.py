"""Runs placed training steps: the plan of each rank, what goes between ranks, memory, state in and out."""
