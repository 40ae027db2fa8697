"""Checkpoints: alignment, coordination, commits, manifests, restore and retention (pure), and their storage (I/O)."""
