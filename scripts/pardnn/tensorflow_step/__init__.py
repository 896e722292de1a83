"""TensorFlow's graphs (GraphDef, concrete functions) and profiles (RunMetadata) as graphs for the partitioner."""
