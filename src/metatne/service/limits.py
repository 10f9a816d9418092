"""How much one request may ask for; the contract of the service, in numbers."""

from __future__ import annotations

MAX_BODY_BYTES = 2**20
MAX_PROJECT_BYTES = 2**20
"""A label project as JSON, however it came."""

MAX_PROJECT_BODY_BYTES = 5 * MAX_PROJECT_BYTES
"""A body about a project: whatever is kept can be sent back, with escapes and as it was read."""

BODY_SECONDS = 30.0
"""How long a client may take to send its body."""

HEAD_SECONDS = 30.0
"""How long a client may take for the head of its next request."""

UNREAD_SECONDS = 30.0
"""How long a client may leave an answer unread that is ready to be sent."""

MAX_FIELDS = 50
"""Fields that one body may have, known or not."""

MAX_SUPPORTS = 10_000
"""Examples that a label project may have, of both sides together."""

MAX_ASKED_SUPPORTS = 2_000
"""Examples of one question, of both sides together: the closed form solves for all of them at once,
and its memory grows with their square and its time with their cube."""

MAX_TOP = 10_000
MAX_QUERY_LENGTH = 200
MAX_FOUND = 100
"""Nodes or labels that one search may return."""

MAX_CANDIDATES = 100_000
MAX_MAP_NODES = 500
MAX_EGO_NODES = 200
MAX_EGO_SHOWN = 500
MAX_SUGGESTED = 200

MAX_LABELS_SHOWN = 5
MAX_NEIGHBOURS_SHOWN = 50
MAX_SHARED_SHOWN = 20

MAX_ID_LENGTH = 10_000
MAX_NAME_LENGTH = 200
MAX_NOTES_LENGTH = 100_000
MAX_PROJECTS = 2_000
MAX_AT_PROJECTS = 2
"""Requests about projects that are worked on at once; their file has one connection."""

MAX_FOR_PROJECTS = 62
"""Requests about projects that may wait for that."""

MAX_IN_FLIGHT = 256
"""Requests that are worked on at once, of whatever kind."""
