"""Deployments: where the slots of a job run."""
