"""Notification bus: PostgreSQL's NOTIFY, sent with the commit, heard in each process by its listener.

The payload is one JSON object: ``{"queued": turn_id, "by": process}``, ``{"stop": turn_id}``,
``{"server_off": server_id}``, ``{"server_well": server_id}``, ``{"answered": turn_id}``,
``{"conversation_over": channel_id}`` or ``{"events": [[turn_id, last_seq], …]}``.
"""

import json
import os
import socket

CHANNEL = "woow_ai"
BATCH = 300  # pairs in one payload; PostgreSQL allows 8000 bytes


def process_id() -> str:
    """This process, among those of all hosts."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _send(cr, payload):
    cr.execute("SELECT pg_notify(%s, %s)", [CHANNEL, json.dumps(payload, separators=(",", ":"))])


def queued(cr, turn_id: int) -> None:
    _send(cr, {"queued": turn_id, "by": process_id()})


def stop(cr, turn_id: int) -> None:
    _send(cr, {"stop": turn_id})


def server_off(cr, server_id: int) -> None:
    _send(cr, {"server_off": server_id})


def server_well(cr, server_id: int) -> None:
    """Somebody has seen the server well: no process goes on leaving it alone."""
    _send(cr, {"server_well": server_id})


def answered(cr, turn_id: int) -> None:
    """A person has answered what a server waits for in its session."""
    _send(cr, {"answered": turn_id})


def conversation_over(cr, channel_id: int) -> None:
    """A conversation was deleted: what servers keep for it ends."""
    _send(cr, {"conversation_over": channel_id})


def events(cr, heads: list[tuple[int, int]]) -> None:
    for start in range(0, len(heads), BATCH):
        _send(cr, {"events": heads[start : start + BATCH]})
