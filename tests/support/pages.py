"""HTML pages as tests read them."""

import json
import re
from typing import Any


def data_of(page: str) -> Any:
    """What the script of a page shows."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])
