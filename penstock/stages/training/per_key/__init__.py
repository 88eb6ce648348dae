"""A model for each key: the stage, what it learns and looks up, how it is trained, and how a stage in it is stored."""
