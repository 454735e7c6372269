"""What Prometheus reads of an Odoo with workers and a runner beside it, and what it does with it."""

import re
import subprocess

import httpx
import pytest
from chat import Chat, calls, first, then
from waiting import eventually

from dev import processes
from dev.checks import testbed
from dev.paths import ROOT
from dev.setup import daemons, extras

TOKEN = "a-token-of-the-operator"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})


@pytest.fixture(scope="module")
def measured(demo_template, demo_facts):
    """An Odoo with workers, and where its runner tells what is measured."""
    port = processes.free_port()
    odoo = testbed.OdooServer(
        demo_template,
        "metrics",
        workers=2,
        operator={"in_process_runner": False, "metrics_token": TOKEN, "metrics_tenants": True},
        environment={**demo_facts, "PYTHONPATH": str(extras.folder())},
    )
    try:
        odoo.start()
        runner = odoo.start_runner("runner", in_process_runner=True, metrics_port=port)
        yield odoo, f"http://127.0.0.1:{port}"
        runner.stop()
    finally:
        odoo.stop()


def read(url):
    answer = httpx.get(f"{url}/metrics", headers=BEARER, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.text


def value(text, name):
    found = re.search(rf"^woow_ai_{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def promtool(*args, **options):
    done = subprocess.run(
        [daemons.promtool(), *args], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_one_turn_counts_is_read_from_whichever_process_is_asked(measured, scripted_llm):
    odoo, runner = measured
    scripted_llm.script(
        first("the time", calls(TAIPEI)), then("the time", {"content": "It is noon."})
    )
    before = read(odoo.url)
    assert Chat(odoo).ask("the time").wait_ended() == "done"
    grown = {
        "claims_total": 1,
        'turns_total{state="done"}': 1,
        'calls_total{outcome="ok"}': 1,
        'model_requests_total{outcome="ok"}': 2,
        "turn_seconds_count": 1,
    }
    for url in (odoo.url, odoo.gevent_url, runner):
        eventually(lambda url=url: value(read(url), "turn_seconds_count") >= 1)
        after = read(url)
        assert {name: value(after, name) - value(before, name) for name in grown} == grown
        assert value(after, 'tokens_total{kind="output"}') > value(
            before, 'tokens_total{kind="output"}'
        )
        assert value(after, "turns_running") == value(after, "wakeup_deaf") == 0
        promtool("check", "metrics", input=after)
    after = read(odoo.url)
    assert f'woow_ai_queue_turns{{database="{odoo.db}",state="queued"}} 0.0' in after
    assert "get_current_time" not in after and "gpt" not in after
    assert odoo.db not in read(runner)


def test_containers_of_one_name_do_not_take_each_other_for_dead(measured, scripted_llm):
    """They share the folder of data, and their processes have the same numbers."""
    odoo, runner = measured
    port = processes.free_port()
    contained = odoo.start_runner(
        "contained", is_contained=True, in_process_runner=True, metrics_port=port
    )
    try:
        contained.wait_until(lambda: processes.listens(port), timeout=60)
        scripted_llm.script(
            first("at length", {"content": "word " * 900}, latency=100, chunkSize=10)
        )
        turn = Chat(odoo).ask("at length")
        turn.until("text")
        for _time in range(2):
            running = [
                value(read(url), "turns_running") for url in (runner, f"http://127.0.0.1:{port}")
            ]
            assert sorted(running) == [0, 1]
        turn.stop()
        assert turn.wait_ended() == "stopped"
    finally:
        contained.stop()


def test_nobody_else_reads_it(measured):
    odoo, runner = measured
    for url in (odoo.url, runner):
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}x"}):
            assert httpx.get(f"{url}/metrics", headers=headers, timeout=60).status_code == 401
    assert httpx.get(f"{runner}/", headers=BEARER, timeout=60).status_code == 404


def test_the_alert_rules_are_prometheus_own():
    promtool("check", "rules", ROOT / "docs/monitoring/alerts.yml")
