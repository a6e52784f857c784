"""Programs beside the engine: proof of the grader, releases, handout, notebooks, similarity, bench and others."""
