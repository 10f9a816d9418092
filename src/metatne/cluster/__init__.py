"""Training and ranking on several machines, with Ray (the extra `cluster`)."""

from metatne.errors import MissingExtraError

try:
    import ray as ray
except ImportError as error:
    raise MissingExtraError(
        "Ray is not installed, and --engine ray needs it: pip install 'metatne[cluster]'"
    ) from error
