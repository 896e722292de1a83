"""A PyTorch training step as a graph and a program: recorded below autograd, run again node by node.

``recorder`` listens to ATen calls, ``build`` makes a graph and a program of them, ``program`` keeps the program in the graph file,
``replay`` runs it. Nothing here imports torch before it is used.
"""
