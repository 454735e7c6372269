"""What carries the wake-up channel: PostgreSQL, or what the operator has named in `[woow_ai] wakeup`."""

from urllib.parse import urlsplit

from ...tools import settings
from . import nats, redis
from .channel import Transport
from .postgres import PostgresTransport

OTHERS = {
    **dict.fromkeys(redis.SCHEMES, redis.RedisTransport),
    **dict.fromkeys(nats.SCHEMES, nats.NatsTransport),
}


def connect() -> Transport:
    """:raises ConnectionError: it cannot be reached; the error does not tell the address, which may hold a password"""
    if not (url := settings.get().wakeup):
        return PostgresTransport()
    try:
        address = urlsplit(url)
        made = OTHERS[address.scheme]
        _port = address.port  # which may be none
    except (ValueError, KeyError):
        known = ", ".join(f"{scheme}://" for scheme in OTHERS)
        raise ConnectionError(f"wakeup is no address that begins with {known}.") from None
    return made(address)
