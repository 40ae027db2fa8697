"""The built-in functions. `registry` explains how each is defined."""
