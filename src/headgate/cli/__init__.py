"""The command line: a client of the REST interface of running drivers, and of what jobs have in storage."""
