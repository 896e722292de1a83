"""The largest batch that fits on K devices: captures at several sizes, judged by the partitioner; CSV, table and plot."""
