"""The public tests. ``python -m tests`` runs them and explains; plain ``pytest`` runs them too."""

import warnings

# Without NumPy, torch warns once when it is imported. pytest may turn warnings into errors, so let this one pass here.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch  # noqa: F401  (imported for what its first import does)
