"""Operators: one file each; the only place where user functions are called."""
