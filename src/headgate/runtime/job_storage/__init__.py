"""What the job master stores, split by owner: the lease, snapshots, clean-up, sink commits, source inputs."""
