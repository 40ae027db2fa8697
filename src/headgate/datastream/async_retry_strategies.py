"""The strategies that repeat failed asynchronous calls, under PyFlink's module path."""

from __future__ import annotations

from headgate import unsupported
from headgate.functions.asynchronous import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryAfter,
    RetryPredicate,
)

__all__ = [
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryAfter",
    "RetryPredicate",
]

unsupported.guard(__name__, globals())
