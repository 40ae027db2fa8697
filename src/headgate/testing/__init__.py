"""Tools for the tests of your own programs, connectors and stores.

They are part of every installation because users test with them: a function alone (`harness`), a whole program under
faults (`sim`), an own source, sink or checkpoint store (`contracts`), against real servers (`servers`). Production code
imports none of them. `pip install "headgate[testing]"` adds the libraries that they need.
"""
