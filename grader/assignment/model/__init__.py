"""Finds out from a submission's outputs what it computes, right or wrong, so that each mistake is charged only once.

Where possible, a submission is compared with itself: its 16-bit output with its float32 output, a batch with each id
alone, a used module with a new one. A mistake is charged in its own property; the other properties are then judged by
what the submission computes, not by the contract.
"""
