"""Sources and sinks that come with headgate, on the protocols of `headgate.functions`."""
