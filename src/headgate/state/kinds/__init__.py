"""Kinds of keyed state: handles, descriptors, and what backends have to know of each kind. `table` lists them."""
