"""Short histories of jobs that write to Kafka under faults, and the checker of what consumers saw of them."""
