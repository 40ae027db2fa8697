"""Sources and sinks, with the module paths of `pyflink.datastream.connectors`."""
