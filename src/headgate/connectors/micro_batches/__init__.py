"""A source of numbered batches, which an external query offers one after the other and which the job acknowledges."""
