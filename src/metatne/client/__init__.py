"""Ask a running `metatne serve` from Python, with the library's own exceptions.

from metatne.client import Client

with Client("http://127.0.0.1:8000") as client:
    answer = client.rank("town", positives=["ann", "bob"], negatives=["dan"])
"""

from metatne.client.asking import Client

__all__ = ["Client"]
