"""Formats of messages and files, with the module paths of `pyflink.datastream.formats`."""
