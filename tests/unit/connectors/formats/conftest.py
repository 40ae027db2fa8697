"""What needs PyFlink is not collected."""

collect_ignore = ["ask_pyflink.py"]
