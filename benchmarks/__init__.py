"""Side-by-side runs against the peers."""
