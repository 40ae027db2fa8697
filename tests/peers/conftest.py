"""The cases are run as one script, by PyFlink too: pytest does not import them."""

collect_ignore_glob = ["cases/*.py", "run_cases.py"]
