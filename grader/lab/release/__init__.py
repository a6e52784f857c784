"""Makes the bundle that students receive, and refuses to if it contains anything that they must not see."""
