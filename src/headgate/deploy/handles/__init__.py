"""What a program holds of a job that runs, and what keeps it reachable and ends it in order."""
