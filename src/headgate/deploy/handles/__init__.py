"""Handles of running jobs, with their endpoint, status line and suspension on SIGTERM."""
