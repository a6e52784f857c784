"""How commands of the core hide who is who, and find somebody by a pseudonym."""

from grader.followup.anonymous import hide as hide
from grader.followup.anonymous import known as known
