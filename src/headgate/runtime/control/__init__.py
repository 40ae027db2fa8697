"""Control messages between the job master and its slots, and heartbeats."""
