"""The job master: the loop in the driver that deploys, supervises, checkpoints and ends a job."""
