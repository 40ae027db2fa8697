"""Makes a SparkSession as embedded jobs do, and leaves the time in the file named on the command line."""

import sys
import time
from pathlib import Path

from headgate.deploy.spark import session

if __name__ == "__main__":
    session.obtain(None, 2)
    Path(sys.argv[1]).write_text(f"{time.monotonic()}\n")
