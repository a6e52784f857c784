"""The walk-through, a series of notebooks: built from percent scripts, run, released, graded, and shown as HTML."""

import sys

# jsonschema would build a grammar of internet addresses, for seconds in each process. It does without where that cannot
# be imported, and no field of a notebook is an address.
UNUSED = "rfc3987_syntax"
sys.modules.setdefault(UNUSED, None)  # type: ignore[arg-type]
