"""What is left of 100 points for an attack that spoils task 1, as far as it does.

An attack that spoils a forward keeps the points for construction, and one that spoils ``functional.py`` costs the whole
bonus, for everything in task 4 calls it.
"""

from typing import Final

NORM_LOST: Final = 58.0  # task 1 is worth nothing
NO_ANSWER: Final = 65.0  # of task 1 only initialisation and registration are left: its forward gives nothing
WRONG_ANSWER: Final = 65.0  # nor is more left where its forward gives wrong values: purity, too, has to be shown
REFUSES: Final = 63.0  # nor is registration left, where values are late, forged or from other calls
FORGES: Final = 59.0  # nor is initialisation left, where forged replies differ between two processes
