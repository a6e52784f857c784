"""Which submissions resemble each other beyond what everybody was given, for a person to judge; scores never change.

It reads text and runs none of it.
"""
