"""Windows and their parts, built-in or written by a program: assigners, triggers, evictors, window functions."""
