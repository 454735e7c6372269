"""Sessions: what people and programs ask a server of the tests over HTTP."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dev.progress import DevError

if TYPE_CHECKING:
    import httpx

    from dev.servers.mock_llms import MockLlm

SYNC_PATIENCE = (
    60  # s, on a busy machine a server may not answer in time, and is left alone for a while then
)
REQUEST_TIMEOUT = 120  # s, of a busy machine


class Sessions:
    """Clients of one Odoo, each user's made once."""

    def __init__(self, url: str, db: str) -> None:
        self.url = url
        self.db = db
        self._api_keys: dict[str, str] = {}
        self._sessions: dict[str, httpx.Client] = {}

    def shell(self, code: str) -> Any:
        """Value that the code assigns to ``result`` in this Odoo."""
        raise NotImplementedError

    def login(self, login: str, password: str | None = None) -> httpx.Client:
        """A client with a new session of this user; the password is the login unless told."""
        import httpx

        client = httpx.Client(base_url=self.url, timeout=REQUEST_TIMEOUT)
        params = {"db": self.db, "login": login, "password": password or login}
        answer = client.post("/web/session/authenticate", json={"jsonrpc": "2.0", "params": params})
        if not answer.json().get("result", {}).get("uid"):
            raise DevError(f"{login} could not sign in: {answer.text[:500]}")
        return client

    def session(self, login: str) -> httpx.Client:
        """A client with this user's session, made once for this server."""
        if login not in self._sessions:
            self._sessions[login] = self.login(login)
        return self._sessions[login]

    def forget_sessions(self) -> None:
        """Sign in again from now on."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def rpc(
        self, model: str, method: str, *args: Any, as_login: str = "admin", **kwargs: Any
    ) -> Any:
        """The result of a model's method, called over HTTP as the web client does."""
        params = {"model": model, "method": method, "args": args, "kwargs": kwargs}
        answer = self.session(as_login).post(
            f"/web/dataset/call_kw/{model}/{method}",
            json={"jsonrpc": "2.0", "id": 1, "params": params},
        )
        body = answer.json()
        if "error" in body:
            raise DevError(f"{model}.{method}: {body['error']['data']['message']}")
        return body.get("result")  # none of a method that returns nothing

    def sync_tools(self, server: int) -> None:
        """Read the tools of an MCP server now."""
        until = time.monotonic() + SYNC_PATIENCE
        while True:
            answer = self.session("admin").post(f"/api/mcp/servers/{server}/sync")
            if answer.status_code == 200:
                return
            if time.monotonic() > until:
                raise DevError(f"MCP server {server}: {answer.text}")
            time.sleep(0.5)

    def api_key(self, login: str) -> str:
        """An API key of this user, for ``Authorization: Bearer``; made once for this server."""
        if login not in self._api_keys:
            self._api_keys[login] = self.shell(
                "from datetime import datetime, timedelta\n"
                f"user = env['res.users'].search([('login', '=', {login!r})])\n"
                "keys = env(user=user.id)['res.users.apikeys']\n"
                "result = keys.sudo()._generate('rpc', 'e2e', datetime.now() + timedelta(days=1))\n"
            )
        return self._api_keys[login]

    def bearer(self, login: str) -> httpx.Client:
        """A client that has no session, only this user's API key."""
        import httpx

        return httpx.Client(
            base_url=self.url,
            timeout=REQUEST_TIMEOUT,
            headers={"Authorization": f"Bearer {self.api_key(login)}"},
        )

    def use_llm(self, llm: MockLlm, model: str = "gpt-4o") -> None:
        """Point the demo's provider at ``llm``."""
        found = self.rpc(
            "ir.model.data", "search_read", [("name", "=", "ai_config_demo")], ["res_id"]
        )
        values = {"api_base_url": llm.base_url, "model": model, "api_key": "test"}
        self.rpc("ai.config", "write", [row["res_id"] for row in found], values)
