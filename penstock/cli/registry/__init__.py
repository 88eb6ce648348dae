"""Jobs of a registry of models: what is in it, and a challenger against the champion."""
