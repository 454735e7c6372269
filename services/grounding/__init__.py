"""Grounding check of answers."""
