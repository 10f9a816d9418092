"""The service over HTTP (the extra `service`): routes, guards, logs, the page's files."""

from metatne.errors import MissingExtraError

try:
    import fastapi as fastapi
    import prometheus_client as prometheus_client
    import uvicorn as uvicorn
except ImportError as error:
    raise MissingExtraError(
        f"{error.name} is not installed, and the service needs it: pip install 'metatne[service]'"
    ) from error
