"""Tests of assistants: a turn again with recorded results, and what is expected of it."""
