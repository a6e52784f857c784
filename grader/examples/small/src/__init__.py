"""Your solution. Fill in every TODO; helper modules of your own are welcome anywhere under ``src/``."""
