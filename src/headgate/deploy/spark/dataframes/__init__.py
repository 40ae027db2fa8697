"""DataFrames as inputs and outputs of jobs, bounded and streaming."""
