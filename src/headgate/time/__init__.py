"""Event time: the rules by which watermarks of several channels become one. Pure."""
