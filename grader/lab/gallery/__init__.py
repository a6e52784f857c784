"""One page with the feedback on every known mistake, so that authors can check that it helps without giving answers."""
