"""Servers that only our own tests need; `services/testing` has those that tests of other addons may use, too."""
