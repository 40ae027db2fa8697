"""Patterns of records: the automaton that finds them, and its operator."""
