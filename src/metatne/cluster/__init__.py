"""Training and ranking on several machines, with Ray (the extra `cluster`)."""

from metatne.extras import needs_extra

with needs_extra("cluster", "--engine ray"):
    import ray as ray
