"""Settings from files and the environment, strict YAML, and secrets."""
