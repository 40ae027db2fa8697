"""Dataflow: the chain of operators of a subtask, and what leads records into it and out of it."""
