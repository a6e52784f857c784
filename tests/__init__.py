"""The public tests, in ``test_*.py``. ``python -m tests`` runs and explains them; plain ``pytest`` runs them, too.

A test's docstring is the law that it checks, in English and then in Chinese. ``harness/`` runs them; in ``models/`` are
language models that run on your layers. You need not read these two folders to solve the assignment. ``practice/`` is
an exercise for practice points: write tests in ``test_mine.py`` that tell wrong implementations from right ones.
"""

import gc
import importlib
import sys
import warnings
from pathlib import Path

# Without NumPy, torch warns once when it is imported. pytest may turn warnings into errors, so let this one pass here.
# What this builds stays; looking for garbage in it takes a sixth of a second.
gc.disable()
with warnings.catch_warnings(action="ignore"):
    import torch  # noqa: F401  (imported for what its first import does)
gc.enable()

if Path(__file__).with_name("harness").joinpath("shared").is_file():  # git writes a link as text where it makes none
    sys.modules["tests.harness.shared"] = importlib.import_module("grader.shared")
