"""What the drivers of a job leave for each other and for others: who owns it, what is intended, where it is."""
