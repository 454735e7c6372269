"""Wake-up channel over Redis, or what speaks its protocol (Valkey, KeyDB): ``redis://[user:password@]host[:port]``."""

from urllib.parse import SplitResult

from ...services.net.pubsub import RedisDecoder
from ...tools.notify import CHANNEL
from . import wire
from .channel import UNKNOWN, Reason

SCHEMES = ("redis", "rediss")
PORT = 6379


class RedisTransport:
    """Two connections: who listens may say nothing else."""

    def __init__(self, address: SplitResult):
        self._wires: list[wire.Wire] = []
        try:
            self._ear, self._mouth = _Line(self._wires, address), _Line(self._wires, address)
            self._ear.ask(b"SUBSCRIBE", CHANNEL.encode())
        except BaseException:
            self.close()
            raise

    def exchange(self, payloads: list[str], timeout: float, wake: int) -> list[str]:
        for payload in payloads:
            self._mouth.send(b"PUBLISH", CHANNEL.encode(), payload.encode())
        heard = []
        for one in wire.ready(self._wires, timeout, wake):
            line = self._ear if one is self._ear.wire else self._mouth
            heard += [answer[2] for answer in line.receive() if answer[0] == b"message"]
        return [payload.decode(errors="replace") for payload in heard]

    def explain(self) -> Reason:
        return UNKNOWN

    def close(self) -> None:
        for one in self._wires:
            one.close()


class _Line:
    def __init__(self, wires: list[wire.Wire], address: SplitResult):
        self.wire = wire.Wire(address, PORT)
        wires.append(self.wire)
        self._decoder = RedisDecoder()
        if address.scheme == "rediss":
            self.wire.encrypt()
        user, password = wire.credentials(address)
        if password:
            self.ask(b"AUTH", *(part.encode() for part in (user, password) if part))

    def send(self, *parts: bytes) -> None:
        texts = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        self.wire.send(b"*%d\r\n%b" % (len(parts), texts))

    def ask(self, *parts: bytes) -> list:
        self.send(*parts)
        return next(wire.answers(self.wire, self._decoder))

    def receive(self) -> list[list]:
        return self._decoder.feed(self.wire.receive())
