"""Authorization server: OAuth 2.1 for clients that sign people in to this host in their browser.

It keeps nothing and reads no socket: `authorization`, `exchange` and `registration` read what a client sends, `tokens`
makes what it gets, `metadata` says where all of it is. The host keeps clients and grants.
"""
