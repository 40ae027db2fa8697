"""What goes of checkpoints and savepoints, and what others still need."""
