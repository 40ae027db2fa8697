"""The job as a graph: logical as written, resolved, chained into vertices, physical as subtasks and channels. Pure."""
