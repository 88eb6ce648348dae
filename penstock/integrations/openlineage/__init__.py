"""Runs as events of OpenLineage: which datasets each run read and wrote, for Marquez, Airflow and data catalogs."""

from penstock.core.extras import importing

with importing("OpenLineage", "openlineage"):
    from penstock.integrations.openlineage.events import emit, events_of

__all__ = ["emit", "events_of"]
