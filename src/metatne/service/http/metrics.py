"""Figures for Prometheus: requests, questions, what is kept."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from metatne.service.desk import Desk
from metatne.service.jobs import Jobs

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER = "other"
"""The route of requests that have none, and the method of those that made one up, so that figures
stay few whatever is asked for."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """What happened since the service started; every service has its own."""

    def __init__(self, jobs: Jobs, desk: Desk) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "metatne_requests",
            "Requests that were answered.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "metatne_request_seconds",
            "How long they took.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._registry.register(_Figures(jobs, desk))
        ProcessCollector(registry=self._registry)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Note a request; the route is one of ours, so there are not many."""
        known = method if method in METHODS else OTHER
        self._requests.labels(route, known, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All figures as Prometheus reads them."""
        return generate_latest(self._registry)


class _Figures(Collector):
    """Figures that others count, read when they are asked for."""

    def __init__(self, jobs: Jobs, desk: Desk) -> None:
        self._jobs, self._desk = jobs, desk

    def collect(self) -> Iterator[Metric]:
        jobs, desk = self._jobs, self._desk
        for name, help_text, value in (
            ("metatne_asks_running", "Questions being worked on.", jobs.num_running),
            ("metatne_asks_waiting", "Questions in the queue.", jobs.num_waiting),
            ("metatne_kept_bytes", "Memory of rankings that are kept.", desk.num_bytes),
        ):
            yield GaugeMetricFamily(name, help_text, value=value)
        for name, help_text, value in (
            ("metatne_asks_refused", "Questions refused for want of room.", jobs.num_refused),
            ("metatne_asks_cancelled", "Questions nobody waited for.", jobs.num_cancelled),
            ("metatne_kept_hits", "Questions answered before.", desk.num_hits),
            ("metatne_kept_misses", "Questions that had to be worked on.", desk.num_misses),
        ):
            yield CounterMetricFamily(name, help_text, value=value)
