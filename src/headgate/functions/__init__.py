"""What user code implements: function interfaces with their contexts, and the source and sink protocols."""
