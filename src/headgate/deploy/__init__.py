"""Deployments: the places that jobs run in."""
