"""Jobs in this process, without Spark or a JVM."""
