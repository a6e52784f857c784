"""Runs a real language model on your layers: ``make chat``. You need not read this package to solve the assignment."""
