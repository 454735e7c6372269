"""Wake-up channel over NATS: ``nats://[user:password@]host[:port]``, ``nats://token@host``, ``tls://…``."""

import json
from urllib.parse import SplitResult

from ...services.net.pubsub import NatsDecoder
from ...tools.notify import CHANNEL
from . import wire
from .channel import UNKNOWN, Reason

SCHEMES = ("nats", "tls")
PORT = 4222


class NatsTransport:
    def __init__(self, address: SplitResult):
        self._wire = wire.Wire(address, PORT)
        self._decoder = NatsDecoder()
        try:
            self._begin(address)
        except BaseException:
            self.close()
            raise

    def _begin(self, address: SplitResult) -> None:
        told = wire.answers(self._wire, self._decoder)
        name, about = next(told)
        if name != "INFO":
            raise ConnectionError("It does not speak the protocol of NATS.")
        try:
            wants_tls = bool(json.loads(about).get("tls_required"))
        except (ValueError, AttributeError, RecursionError) as error:
            raise ConnectionError("It does not speak the protocol of NATS.") from error
        if wants_tls or address.scheme == "tls":
            self._wire.encrypt()
        user, password = wire.credentials(address)
        options = {"verbose": False, "pedantic": False, "echo": True, "name": CHANNEL}
        options |= {"lang": "python", "version": "1", "protocol": 1}
        if password:
            options |= {"user": user, "pass": password}
        elif user:
            options["auth_token"] = user
        self._wire.send(f"CONNECT {json.dumps(options)}\r\nSUB {CHANNEL} 1\r\nPING\r\n".encode())
        for name, _rest in wire.answers(self._wire, self._decoder):
            if name == "PONG":
                return

    def exchange(self, payloads: list[str], timeout: float, wake: int) -> list[str]:
        for payload in payloads:
            data = payload.encode()
            self._wire.send(b"PUB %b %d\r\n%b\r\n" % (CHANNEL.encode(), len(data), data))
        heard = []
        if wire.ready([self._wire], timeout, wake):
            for name, payload in self._decoder.feed(self._wire.receive()):
                if name == "PING":
                    self._wire.send(b"PONG\r\n")
                elif name == "MSG":
                    heard.append(payload.decode(errors="replace"))
        return heard

    def explain(self) -> Reason:
        return UNKNOWN

    def close(self) -> None:
        self._wire.close()
