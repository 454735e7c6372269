"""Audit log: chains of entries, signed checkpoints, and the check of both."""
