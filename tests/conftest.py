"""Shapes are checked while tests run; fixtures that many tests share."""

from __future__ import annotations

from jaxtyping import install_import_hook

# Before anything of metatne is imported: every signature is checked from here on.
install_import_hook("metatne", "type_checks.checked")
