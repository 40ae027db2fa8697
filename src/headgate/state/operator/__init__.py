"""State of a subtask that belongs to no key: lists that are dealt out, unions, broadcast state."""
