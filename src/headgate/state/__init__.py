"""State: descriptors, key groups, handles, and the backends that hold it."""
