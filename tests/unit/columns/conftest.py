"""The programs for PyFlink are no tests."""

collect_ignore = ["ask_pyflink.py"]
