"""Ids for what is new in a file: derived from content, so that the same run gives the same bytes."""

from __future__ import annotations

import hashlib
import uuid


def derived_uuid(*parts: str) -> str:
    """A UUID (version 5) that names these texts; they may hold lone surrogates."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return str(uuid.uuid5(uuid.NAMESPACE_OID, digest))
