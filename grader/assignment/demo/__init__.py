"""How the language model of ``make demo`` was trained; what runs it is in ``tests/demo``."""
