"""Tests of the notebooks are left out where the extra ``notebooks`` is not installed: ``make notebooks`` does it."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("nbformat") else ["test_notebooks_*.py"]
