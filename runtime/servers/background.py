"""Background jobs about servers and webhooks, begun after a commit: no request, cron or cursor waits for them."""

from .. import process
from ..turns import replays
from . import server_jobs, webhooks
from .server_store import ServerStore


def sync_later(dbname: str, server_ids: list[int], uid: int | None = None) -> None:
    """Read the tools of servers, after the commit that wants it.

    :param uid: who is notified of what came of it
    """
    process.in_background(
        lambda engine, loop: server_jobs.sync(engine, loop, ServerStore(dbname), server_ids, uid)
    )


def sync_as_signed_in(dbname: str, spec) -> None:
    """Read the tools of a server with the credential of `spec`."""
    process.in_background(
        lambda engine, loop: server_jobs.sync_one(engine, loop, ServerStore(dbname), spec)
    )


def apply_file_later(dbname: str) -> None:
    """Bring the servers of the operator's file up to date, after the commit that wants it."""
    process.in_background(
        lambda _engine, loop: loop.db(dbname, ServerStore(dbname).apply_file, False)
    )


def check_later(dbname: str, server_ids: list[int]) -> None:
    """Ask many servers at once whether they are well."""
    process.in_background(
        lambda engine, loop: server_jobs.check(engine, loop, ServerStore(dbname), server_ids)
    )


def import_later(dbname: str, box_id: int, url: str, uid: int) -> None:
    """Read the OpenAPI document of a toolbox, as this person."""
    process.in_background(
        lambda engine, loop: server_jobs.fetch(engine, loop, ServerStore(dbname), box_id, url, uid)
    )


def deliver_later(dbname: str, webhook_ids: list[int]) -> None:
    """Deliver what webhooks have to be told."""
    process.in_background(
        lambda engine, loop: webhooks.deliver(engine, loop, webhooks.Outbox(dbname), webhook_ids)
    )


def replay_later(dbname: str) -> None:
    """Run tests of assistants that wait."""
    process.in_background(
        lambda engine, loop: replays.run_all(engine, loop, replays.ReplayStore(dbname))
    )
