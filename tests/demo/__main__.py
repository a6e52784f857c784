"""``python -m tests.demo``, behind ``make demo``: your layers run a language model."""

import sys

from .run import main

sys.exit(main())
