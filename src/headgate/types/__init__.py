"""Types of records: rows, type information, its Arrow counterpart, and the canonical form of keys."""
