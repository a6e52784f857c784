"""``python -m grader.selftest.command``: every command, with the small assignment in the place of the repository's."""

from __future__ import annotations

import sys

from grader.examples.small.grader import assignment

if __name__ == "__main__":  # and not in processes that this one starts, which get their assignment with the settings
    sys.modules["grader.assignment"] = assignment
    from grader.__main__ import main
    from grader.selftest import borrowed as borrowed

    main()
