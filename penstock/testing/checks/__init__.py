"""The checks, one theme a module; each is a function of a stage and an engine that raises AssertionError."""
