"""What runs the tests and explains what they found. To solve the assignment, nobody needs to read it."""
