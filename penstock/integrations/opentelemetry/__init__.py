"""Runs as traces and metrics of OpenTelemetry: Jaeger, Tempo, Prometheus and Grafana show them."""

from penstock.core.extras import importing

with importing("OpenTelemetry", "opentelemetry"):
    from penstock.integrations.opentelemetry.export import export
    from penstock.integrations.opentelemetry.metrics import metrics_of
    from penstock.integrations.opentelemetry.spans import record_spans

__all__ = ["export", "metrics_of", "record_spans"]
