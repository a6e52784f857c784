"""The walk-through, a series of notebooks: built from percent scripts, run, released, graded, and shown as HTML."""

import sys

# With this module, jsonschema spends seconds in each process on a grammar of internet addresses, which no field of a
# notebook needs; it works without.
UNUSED = "rfc3987_syntax"
sys.modules.setdefault(UNUSED, None)  # type: ignore[arg-type]
