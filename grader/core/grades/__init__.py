"""From reports to grades: who a submission belongs to, and what it is worth by the late policy and by decisions."""
