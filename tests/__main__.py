"""``python -m tests``, behind ``make test``: run the public tests and explain what they found."""

import sys

from .harness.commands import exit_status
from .harness.run import main

sys.exit(exit_status(main))
