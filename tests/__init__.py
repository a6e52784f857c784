"""The public tests, in ``test_*.py``. ``python -m tests`` runs and explains them; plain ``pytest`` runs them, too.

A test's docstring is the law that it checks, in English and then in Chinese. ``harness/`` holds what runs them.
"""

import warnings

# Without NumPy, torch warns once when it is imported. pytest may turn warnings into errors, so let this one pass here.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch  # noqa: F401  (imported for what its first import does)
