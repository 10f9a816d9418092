"""Asking a graph over HTTP: what is asked and answered here, how it travels in `service.http`."""
