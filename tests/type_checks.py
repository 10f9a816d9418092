"""beartype as the import hook of `conftest.py` uses it."""

from __future__ import annotations

from typing import IO, Any, Self

import numpy as np
from beartype import BeartypeConf, FrozenDict, beartype

checked: Any = beartype(
    conf=BeartypeConf(
        is_pep484_tower=True,  # an int is a float, as for mypy
        # Hints that beartype cannot read: `Self` needs the class, but jaxtyping decorates
        # its methods one by one; `np.ndarray[Any, Any]` is how mypy wants "some array";
        # `IO` it takes for a protocol that urllib's responses do not quite follow.
        hint_overrides=FrozenDict(
            {Self: object, np.ndarray[Any, Any]: np.ndarray, IO[bytes]: object}
        ),
    )
)
