"""Real servers for tests, started and stopped by the tests themselves, each by its process id."""
