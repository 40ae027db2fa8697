"""The programs are run by test_programs.py; they are not tests, and import pyflink."""

collect_ignore_glob = ["programs/*"]
