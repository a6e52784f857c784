"""``python -m tests.submit``, behind ``make submit``: look over ``src/`` and pack it for handing in."""

import sys

from .harness.submit import main

sys.exit(main())
