"""Sets up, starts and tests the addon on a developer's machine; needs nothing but Python's standard library."""
