"""Where a job is in its life, under PyFlink's name."""

from headgate import unsupported
from headgate.job_status import JobStatus

__all__ = ["JobStatus"]


unsupported.guard(__name__, globals())
