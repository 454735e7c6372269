"""The demo's own MCP server for times, which takes places as people say them, run as ``python -m dev.servers.clock``.

Of all servers that the demo starts, this one alone is ours: *time* of the protocol's authors wants IANA zones, and of a
city that has none of its own a small model invents one (``Europe/Lyon``).
"""
