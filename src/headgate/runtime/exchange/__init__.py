"""The exchange of batches between subtasks: queues inside a slot, connections between slots."""
