"""Windows: what programs say of them, and may write themselves: windows, assigners, triggers, evictors."""
