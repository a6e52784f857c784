"""An exercise for practice points: write tests in ``test_mine.py`` that tell wrong implementations from right ones."""
