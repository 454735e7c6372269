"""Worlds in which processes, databases, MCP servers, models and people are simulated and everything may fail.

One seed is one world: the same seed, the same world, whatever the machine does. What runs in it is the product's:
runner, journal, loop of a turn, calls, tools, pool. What it stands on is a model: the store as the design has it
(`services.testing.model_store`), MCP servers and a language model in memory, and a clock that nobody waits for.
See docs/simulation.md.
"""
