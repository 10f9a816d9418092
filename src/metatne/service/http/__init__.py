"""The service over HTTP (the extra `service`): routes, guards, logs, the page's files."""

from metatne.extras import needs_extra

with needs_extra("service", "the service"):
    import fastapi as fastapi
    import prometheus_client as prometheus_client
    import uvicorn as uvicorn
