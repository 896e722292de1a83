"""TensorFlow graphs with a device for each node, and sessions that follow them."""
