"""JobStatus, under PyFlink's module name."""

from headgate import unsupported
from headgate.job_status import JobStatus

__all__ = ["JobStatus"]


unsupported.guard(__name__, globals())
