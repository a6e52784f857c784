"""How an assignment declares submissions whose truth is known: variants, attacks and a sample class."""
