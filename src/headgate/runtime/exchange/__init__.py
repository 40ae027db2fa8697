"""Channels between subtasks: queues inside a slot, connections between slots, and who gets which record."""
