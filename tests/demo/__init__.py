"""Runs a small language model on your layers: ``make demo``. You need not read this package to solve the assignment."""
