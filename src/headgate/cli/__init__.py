"""The command line: a client of the REST interface of running drivers, and a reader of the jobs' storage."""
