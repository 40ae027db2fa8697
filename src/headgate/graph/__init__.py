"""The job as a graph: logical as written, resolved, chained into vertices; and where its subtasks run. Pure."""
