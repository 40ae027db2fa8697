"""Brings a program's code to its slots: packed environments, files, archives, requirements."""
