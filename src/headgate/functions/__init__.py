"""What user code implements: function interfaces, their contexts, and the source and sink protocols."""
