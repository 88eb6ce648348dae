"""A registry of models in a directory or a store: versions by digest, and aliases, such as ``champion``, by name.

``registry.json`` has the aliases, each with the history of what it stood for, and a record of every version; it is
replaced whole, by a run that has seen what it replaces. ``versions/<digest>`` are saved models, each complete before it
is recorded. So a reader finds an alias old or new, whatever becomes of a writer.
"""

from penstock.artefact.registry.document import ModelVersion, Promotion
from penstock.artefact.registry.registry import ModelRegistry

__all__ = ["ModelRegistry", "ModelVersion", "Promotion"]
