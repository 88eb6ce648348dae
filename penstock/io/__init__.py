"""Data from and to storage: fragments, the sources that read them, the sinks that write."""
