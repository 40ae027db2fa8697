"""How long a browser takes from an address to the job graph: `python -m bench.first_view JSON`.

The time is that of the page itself, from the begin of the navigation to the first box of the graph, each in a browser
that has nothing of the page yet. The job has little to do, so that its slots leave the cores to the browser, which has
a machine of its own in practice. Prints a list of milliseconds as JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from bench.trial import Trial, start, stop
from headgate.deploy.handles.running_job import RunningJob
from headgate.errors import EnvironmentFault
from tests.browser.chromium import QUIET

SEEN = """
new MutationObserver((_, self) => {
  if (document.querySelector('.node')) { window.seenMs = performance.now(); self.disconnect(); }
}).observe(document, {childList: true, subtree: true});
"""


def first_views(browser: Browser, job: RunningJob, times: int) -> list[float]:
    """Return the milliseconds of so many first views."""
    found = []
    for _ in range(times):
        context = browser.new_context()
        context.add_init_script(SEEN)
        page = context.new_page()
        address = job.page_address(framed=False)
        assert address is not None
        page.goto(address)
        page.locator(".node").first.wait_for()
        found.append(float(page.evaluate("window.seenMs")))
        context.close()
    return found


def measure(given: dict[str, Any]) -> list[float]:
    """Run a job, and look at it."""
    program = shutil.which("chromium")
    if program is None:
        raise EnvironmentFault("there is no Chromium here: apt-get install -y chromium")
    rest = {"headgate.rest.enabled": "true"}
    target = given["target"]
    trial = Trial(program="latency-1000", target=target, seconds=600.0, slots=2, checkpoint_ms=1000, options=rest)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder, sync_playwright() as playwright:
        job = start(trial, folder)
        try:
            with playwright.chromium.launch(executable_path=program, args=list(QUIET)) as browser:
                first_views(browser, job, 2)  # the browser's own start, and the job's
                return first_views(browser, job, given["times"])
        finally:
            stop(job)


if __name__ == "__main__":
    print(json.dumps({"ms": measure(json.loads(sys.argv[1]))}))
