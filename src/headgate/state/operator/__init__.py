"""State of a subtask that belongs to no key: list state, union list state and broadcast state."""
