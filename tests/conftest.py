"""What holds for every test: hypothesis measures no time, because a shared machine is slow now and then."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("headgate", deadline=None)
settings.load_profile("headgate")
