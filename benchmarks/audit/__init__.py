"""What the audit log costs."""
