"""Versions of a configuration: their digest, and the difference of two."""
