"""Real servers for tests: Kafka, PostgreSQL and Spark, started and stopped by the tests themselves.

They are installed with headgate so that you can test your own programs against real systems. Each server is stopped by
its process id. Production code does not import them.
"""
