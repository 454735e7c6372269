"""The fleet's bed: a PostgreSQL of its own with all tenants, PgBouncer before it, an Odoo that runs no turns, runners.

It stands in one folder, which the next run removes if this one could not. No other database is touched.
"""

import configparser
import contextlib
import json
import os
import signal
import subprocess
import time

import httpx
import psutil
import psycopg2

from dev import processes
from dev.checks import testbed
from dev.paths import DEV, LOGS
from dev.servers.instance import Instance
from dev.servers.pooler import Pooler
from dev.servers.postgres import Postgres
from tools import notify

from ..bed import Person
from .tenants import Tenant

TENANTS = int(os.environ.get("TENANTS", "200"))
FOLDER = DEV / "run/fleet"
PREFIX = "woow_fleet_"
MODEL = "woow_model"  # what all tenants are copies of
IDENTITY = "woow_paas_platform.database"  # the parameter that tells a copy, see tools/copies.py
LOOKS = 10  # s between two looks of a runner into a database that rests
POOLER_IDLE = 1  # s that PgBouncer keeps a connection that nobody uses
# As in docs/deployment.md: no process of Odoo may use up what PgBouncer has for a tenant.
POOL = {"default_pool_size": "48", "query_wait_timeout": "10"}
# Off for the copies only: figures are those of a server that loses nothing.
SYNC = ("fsync", "full_page_writes")
TRANSACTIONS = """
    SELECT datname, xact_commit + xact_rollback FROM pg_stat_database WHERE datname ~ '^woow_fleet_'
    """
BACKENDS = """
    SELECT COUNT(*) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND application_name LIKE 'odoo-%'
    """


class Fleet:
    """
    :param made: where what is started is to be ended
    :param channel: id of the conversation that each tenant has
    :ivar odoo: one HTTP worker and the gevent process, for all tenants
    """

    def __init__(self, llm, postgres, made, channel, data_dir):
        self.llm = llm
        self.postgres = postgres
        self.channel = channel
        self._messages = 0
        self.pooler = Pooler(postgres, FOLDER / "pgbouncer")
        self.pooler.start()
        made.callback(self.pooler.stop)
        self.pool_idles(POOLER_IDLE)
        model = Instance("test", MODEL)
        model.postgres, model.data_dir = postgres, data_dir
        self.odoo = testbed.OdooServer(
            model,
            "fleet_000",
            workers=1,
            options={
                "dbfilter": f"^{PREFIX}",
                "db_name": "",
                "db_maxconn_gevent": 32,
                "max_cron_threads": 0,
            },
            operator={
                "in_process_runner": False,
                "streams_per_person": 500,  # each tenant has one reader
            },
            environment=self.pooler.environment,
        )
        made.callback(self.odoo.process.stop)
        self.odoo.instance.database = ""
        self.odoo.process.start()
        self.odoo.process.wait("/web/health")
        children = psutil.Process(self.odoo.process.pid).children()
        (self.worker,) = [one for one in children if "gevent" not in one.cmdline()]
        (self.gevent,) = [one for one in children if "gevent" in one.cmdline()]
        self._control = self.connect("postgres")
        made.callback(self._control.close)
        self.secret = postgres.sql(MODEL, notify.SECRET)
        self.tenants = [Tenant(self, f"{PREFIX}{number:03}") for number in range(TENANTS)]
        made.callback(lambda: [tenant.close() for tenant in self.tenants])

    # ------------------------------------------------------------ processes

    @contextlib.contextmanager
    def runner(self, name, *arguments, **environment):
        """A runner of all tenants that has looked into each."""
        instance = self.odoo.instance
        process = processes.start(
            name,
            instance.odoo("ai_runner", "--all", *arguments),
            log=LOGS / f"bench-fleet-{name}.log",
            env={
                **os.environ,
                **self.pooler.environment,
                "MALLOC_ARENA_MAX": "2",  # as in docs/deployment.md
                **environment,
                "ODOO_RC": str(instance.config),
            },
        )
        try:
            process.wait_until(
                lambda: "serves the databases" in process.log.read_text(), timeout=120
            )
            time.sleep(
                2 * LOOKS
            )  # it lists them, looks, and looks again after it has joined the channel
            yield psutil.Process(process.pid)
        finally:
            process.stop()

    def sign_in(self, database, login):
        unkept = httpx.Limits(max_keepalive_connections=0)  # minutes may pass between two requests
        client = httpx.Client(base_url=self.odoo.url, timeout=120, limits=unkept)
        params = {"db": database, "login": login, "password": login}
        answer = client.post("/web/session/authenticate", json={"params": params})
        assert answer.json().get("result", {}).get("uid"), answer.text[:500]
        return client

    # ------------------------------------------------------------ PostgreSQL and what stands before it

    def connect(self, database):
        """Past the pooler; each statement is a transaction."""
        where = self.postgres
        connection = psycopg2.connect(
            host=where.host, port=where.port, user=where.user, dbname=database
        )
        connection.autocommit = True
        return connection

    def pool_idles(self, seconds):
        """Let PgBouncer close connections that nobody has used for so long."""
        config, parser = FOLDER / "pgbouncer/pgbouncer.ini", configparser.RawConfigParser()
        parser.read(config)
        parser["pgbouncer"].update(POOL, server_idle_timeout=str(seconds))
        with config.open("w") as file:
            parser.write(file)
        self.pooler._process.popen.send_signal(signal.SIGHUP)  # it reads it again

    def publish(self, tenants, kind, ids):
        """What a process says after its commit."""
        self._messages += 1
        to = {tenant.token: {kind: ids} for tenant in tenants}
        message = json.dumps({"by": "bench", "n": self._messages, "to": to})
        self._asked("SELECT pg_notify(%s, %s)", [notify.CHANNEL, message])

    def connections(self, process):
        """Those of a process to the pooler."""
        return sum(
            line.status == psutil.CONN_ESTABLISHED and line.raddr.port == self.pooler.port
            for line in process.net_connections("tcp")
        )

    def backends(self):
        """PostgreSQL's processes that work for Odoo's."""
        ((number,),) = self._asked(BACKENDS)
        return number

    def transactions(self):
        """By tenant, all that PostgreSQL has ended there."""
        return dict(self._asked(TRANSACTIONS))

    def _asked(self, statement, values=None):
        with self._control.cursor() as cr:
            cr.execute(statement, values)
            return cr.fetchall()


@contextlib.contextmanager
def fleet(llm, new_odoo):
    """All tenants at rest: copies of a database in which one turn has run."""
    _remove(FOLDER)
    with contextlib.ExitStack() as made:
        made.callback(_remove, FOLDER)
        postgres = Postgres(FOLDER / "pg", own=True)
        postgres.start()
        made.callback(postgres.stop)
        _set(postgres, "off", *SYNC, "autovacuum")  # whose work would count as the tenants'
        with new_odoo("fleet_model") as odoo:
            person = Person(odoo)
            list(person.events(person.ask()))
            postgres.restore(MODEL, odoo.instance.postgres.dump(odoo.db))
            # Each tenant is an original: in a copy of another database turns are stopped.
            postgres.sql(MODEL, f"DELETE FROM ir_config_parameter WHERE key = '{IDENTITY}'")
            data_dir = odoo.instance.data_dir
        begun = time.monotonic()
        for number in range(1, TENANTS):
            postgres.sql(
                "postgres",
                f"CREATE DATABASE {PREFIX}{number:03} TEMPLATE {MODEL} STRATEGY file_copy",
            )
        size = int(postgres.sql("postgres", f"SELECT pg_database_size('{MODEL}')")) >> 20
        made_one = Fleet(llm, postgres, made, person.id, data_dir)
        os.sync()  # so that what follows does not wait for the copies
        _set(postgres, "on", *SYNC)
        took = time.monotonic() - begun
        print(f"{TENANTS} tenants of {size} MB, made in {took:.0f} s", flush=True)
        yield made_one


def _remove(folder):
    """In a process of its own, which goes on when this one has ended: half a million files take minutes."""
    if folder.exists():
        aside = folder.rename(folder.with_name(f"{folder.name}.{os.getpid()}.gone"))
        subprocess.Popen(["nice", "-n", "19", "rm", "-rf", aside], start_new_session=True)


def _set(postgres, value, *names):
    for name in names:
        postgres.sql("postgres", f"ALTER SYSTEM SET {name} = {value}")
    postgres.sql("postgres", "SELECT pg_reload_conf()")
