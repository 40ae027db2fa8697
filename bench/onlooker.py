"""Somebody who has the page of a job open: `python -m bench.onlooker JOB` asks for what the page asks for, as often.

It follows the events of the job, and the curves, subtasks and metrics of one vertex, until the job has ended.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from headgate.checkpoint.drivers.address import DriverAddress, RunDirectory

EVERY_S = {"history": 3.0, "subtasks": 2.0, "user-metrics": 2.0}
"""As app/vertex.js has it."""
FOUND_S_MAX = 30.0


@contextmanager
def onlooker(job_id: str) -> Iterator[None]:
    """Have a process look at the job."""
    process = subprocess.Popen([sys.executable, "-m", "bench.onlooker", job_id], cwd=Path(__file__).parent.parent)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def look(address: DriverAddress) -> None:
    """Look until the job has ended."""
    headers = {"Authorization": f"Bearer {address.token}"}
    with httpx.Client(base_url=address.url, headers=headers, timeout=None) as http:
        base = f"/jobs/{address.job_id}"
        vertex = http.get(f"{base}/overview").json()["vertices"][-1]["id"]
        for name, every_s in EVERY_S.items():
            path = f"{base}/vertices/{vertex}/{name}"
            threading.Thread(target=ask_again, args=(http, path, every_s), daemon=True).start()
        with http.stream("GET", f"{base}/live") as events:
            for _ in events.iter_lines():
                pass


def ask_again(http: httpx.Client, path: str, every_s: float) -> None:
    """Ask for a path again and again, until it is not there any more."""
    with contextlib.suppress(httpx.HTTPError):
        while http.get(path).is_success:
            time.sleep(every_s)


def found(job_id: str) -> DriverAddress:
    """Return the address of the job's driver, once it is told."""
    deadline_s = time.monotonic() + FOUND_S_MAX
    while time.monotonic() < deadline_s:
        for address in RunDirectory.of_user().read():
            if address.job_id == job_id:
                return address
        time.sleep(0.05)
    raise TimeoutError(f"job {job_id} has no address")


if __name__ == "__main__":
    look(found(sys.argv[1]))
