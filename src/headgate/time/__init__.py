"""Time: the watermark valve, which combines the watermarks of several channels, and the timers of keys."""
