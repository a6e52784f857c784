"""What a solution may have meant: how a submission's outputs are read, so that each mistake is charged once.

A submission is its own witness wherever that needs no list of mistakes: its float32 output judges its 16-bit output,
each id alone tells what a batch has to give, and a new module tells what a used one has to answer. Where a mistake has
been charged in its own property, the others are judged on what the outputs show instead.
"""
