"""Requests of one person that wait for a server: so many and no more, in all processes; everybody else goes on."""

from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest
from waiting import PATIENCE, eventually

TOO_MANY = 3  # requests beyond the limit


@pytest.fixture(params=["threads", "processes"])
def limited(request, counter):
    """An Odoo that knows the counting server, and how many requests of one person may wait there.

    Of three workers one stays for the others; threads are limited by the setting's default.
    """
    if request.param == "threads":
        odoo, limit = request.getfixturevalue("odoo"), 8
    else:
        odoo, limit = request.getfixturevalue("new_odoo")("waits", workers=3), 2
    server = counter.register(odoo)
    yield odoo, limit
    odoo.rpc("woow_paas_platform.mcp_server", "unlink", [server])


def call(odoo, login, **arguments):
    body = {"toolName": "count", "arguments": arguments}
    return odoo.session(login).post("/api/mcp/execute-tool", json=body)


def test_requests_at_the_same_moment(limited, counter, request):
    odoo, limit = limited
    name = request.node.callspec.id
    names = [f"{name}{number}" for number in range(limit + TOO_MANY)]
    odoo.session("user")
    with ThreadPoolExecutor(len(names)) as pool:
        asked = {pool.submit(call, odoo, "user", id=one, until=f"{name}.go"): one for one in names}
        try:
            ended = as_completed(asked, PATIENCE)
            refused = [next(ended) for _ in range(TOO_MANY)]
            for one in refused:
                error = one.result().json()["error"]
                assert (one.result().status_code, error["code"]) == (429, "too_many_waits")
                assert one.result().headers["retry-after"] == str(error["details"]["retry_after"])
            eventually(lambda: sum(map(counter.executions, names)) == limit)
            for number in range(2):
                answer = call(odoo, "demo", id=f"{name}-other{number}")
                assert (answer.status_code, answer.json()["success"]) == (200, True), answer.text
            assert odoo.session("user").get("/api/mcp/servers").status_code == 200
            assert call(odoo, "user", id=f"{name}-late").status_code == 429
            assert {one for one in asked if one.done()} == set(refused)
        finally:
            counter.release(f"{name}.go")
        for one in asked.keys() - set(refused):
            assert (one.result().status_code, one.result().json()["success"]) == (200, True)
    assert [counter.executions(asked[one]) for one in refused] == [0] * TOO_MANY
    assert counter.executions(f"{name}-late") == 0
    assert call(odoo, "user", id=f"{name}-again").status_code == 200
