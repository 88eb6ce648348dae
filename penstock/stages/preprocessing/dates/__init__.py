"""Parts of dates, the time between them, and the cycles they go through."""
