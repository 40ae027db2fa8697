"""A seeded simulation of whole jobs: the production job master, slots and storage protocol under faults."""
