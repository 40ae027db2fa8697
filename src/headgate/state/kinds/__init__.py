"""The kinds of keyed state, each with handles, a descriptor and a stored form; `state/descriptors.py` lists them."""
