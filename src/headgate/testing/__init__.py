"""For the tests of programs and connectors."""
