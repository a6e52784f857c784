"""``grader return``: each student's page, in bulk, as a platform or a mail program takes it."""
