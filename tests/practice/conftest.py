"""For plain ``pytest tests/practice`` and for editors: gives tests each right implementation; none may refuse one."""

import importlib

import pytest


@pytest.fixture(params=["right_1", "right_2"])
def visible(request):
    """A right implementation."""
    return importlib.import_module(f"tests.practice.{request.param}").visible
