"""The parts of the API that streams share: types, configuration, strategies, with the names of `pyflink.common`."""
