"""Looking into snapshots without a job: the state of an operator, restored piece by piece and shown as text."""
