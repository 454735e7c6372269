"""A running Odoo of one instance, threaded or prefork with a gevent process behind the front proxy."""

import http.client
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from dev import processes
from dev.paths import LOGS
from dev.servers.instance import Instance
from dev.setup import node

PROXY = Path(__file__).with_name("proxy.mjs")
START_TIMEOUT = 180  # seconds; the first page compiles assets


class OdooProcess:
    """Odoo's processes and, for prefork, the proxy before them; ``port`` is the one to talk to."""

    def __init__(
        self,
        instance: Instance,
        *,
        port: int,
        gevent_port: int,
        workers: int = 0,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        self.instance = instance
        self.port = port
        self.gevent_port = gevent_port
        self.workers = workers
        # Behind the proxy Odoo's own HTTP port is not the one that people use.
        self.http_port = instance.port("behind-proxy") if workers else port
        self.log = log or instance.log
        self._environment = {
            **os.environ,
            # Odoo starts itself anew as "python", which is looked for there.
            "PATH": f"{Path(instance.python).parent}:{os.environ.get('PATH', os.defpath)}",
            **instance.postgres.environment,
            **(environment or {}),
        }
        self._odoo: processes.Process | None = None
        self._proxy: processes.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start everything; the instance's configuration has to be written already."""
        self._odoo = processes.start(
            "Odoo",
            self.instance.odoo(
                f"--http-port={self.http_port}",
                f"--gevent-port={self.gevent_port}",
                f"--workers={self.workers}",
                f"--database={self.instance.database}",
            ),
            log=self.log,
            env=self._environment,
            append=True,
        )
        if self.workers:
            node.node_modules()
            self._proxy = processes.start(
                "the front proxy",
                [node.node(), PROXY, *map(str, (self.port, self.http_port, self.gevent_port))],
                log=LOGS / f"{self.instance.name}-proxy.log",
            )

    def wait(self, path: str = "/web/login") -> None:
        """Return when ``path`` really answers 200."""
        assert self._odoo
        self._odoo.wait_until(lambda: answers(self.port, path), timeout=START_TIMEOUT)
        if self.workers:
            self._odoo.wait_until(
                lambda: processes.listens(self.gevent_port), timeout=START_TIMEOUT
            )

    def running(self) -> bool:
        return bool(self._odoo and self._odoo.running())

    @property
    def pid(self) -> int:
        """Process id of Odoo's main process, which forks the others."""
        assert self._odoo
        return self._odoo.pid

    def kill9(self) -> None:
        """End all of Odoo's processes at once, as a crash would; the proxy goes on."""
        if self._odoo:
            self._odoo.kill()

    def signal(self, number: signal.Signals) -> None:
        """Send one signal to Odoo's main process."""
        if self._odoo:
            self._odoo.popen.send_signal(number)

    def log_tail(self, lines: int = 20) -> str:
        return self._odoo.log_tail(lines) if self._odoo else ""

    def stop(self) -> None:
        for process in (self._proxy, self._odoo):
            if process:
                process.stop()
        self._proxy = self._odoo = None


def answers(port: int, path: str) -> bool:
    """True if a GET of ``path`` on the loopback's ``port`` gives 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
