"""What stands beside the engine: proof, releases, handout, notebooks, similarity, benchmarks."""
