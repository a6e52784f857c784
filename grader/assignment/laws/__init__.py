"""The laws behind lost points, as tests that a student copies from a report into ``tests/``.

Each property has at least one. It holds for every right solution and compares the student's own outputs with each
other where it can; it never holds a value of a hidden test. Constants such as ``GROUP_SIZE`` take the values of the
case that failed. The docstring of a test words its law, in English and then in Chinese; that of a property's first test
is what reports quote. Tests take no fixtures, so that they read like a script.
"""
