"""How the language model of ``make demo`` was trained; what runs it is ``tests/demo.py``."""
