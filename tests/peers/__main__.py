"""Compare with PyFlink: `python -m tests.peers record`, after `make peers`, and `python -m tests.peers compare`.

`record` runs all cases under PyFlink and keeps what they print in `pyflink.json`; `compare` runs them here and writes
the table of docs/results.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.peers.comparing import HERE, PYFLINK, ROOT, TABLE, compared, failures, ran, table


def main(command: str) -> int:
    """Do what the command says; return the exit code."""
    if command == "record":
        python = ROOT / ".venv-peers" / "bin" / "python"
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # where PyFlink's own processes find Python
        environment = {**os.environ, "PATH": path}
        PYFLINK.unlink(missing_ok=True)
        while subprocess.run(
            [python, HERE / "run_cases.py", "pyflink", PYFLINK], env=environment, check=False
        ).returncode:
            print("a case has ended the process: going on with the next one")
        return 0
    rows = compared(ran())
    TABLE.write_text(table(rows))
    wrong = failures(rows)
    print(*wrong, sep="\n")
    print(f"{len(rows)} cases, {len(wrong)} wrong: {TABLE}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
