"""For plain ``pytest tests/practice`` and for editors: gives tests each right implementation; none may refuse one."""

import pytest

from . import implementations


@pytest.fixture(params=["right_1", "right_2"])
def visible(request):
    """A right implementation."""
    return getattr(implementations, request.param)
