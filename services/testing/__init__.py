"""Doubles of what the engine talks to; part of the product, so that hosts can test with them too."""
