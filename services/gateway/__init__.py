"""Server side of MCP: answers the requests of any MCP client, in both eras, with what the servers of a host offer.

It reads no socket and waits for nothing: `server.exchange` takes one HTTP body and says what to answer, and which calls
the host has to make before.
"""
