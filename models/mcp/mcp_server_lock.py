from urllib.parse import unquote, urlsplit

from odoo import api, fields, models
from odoo.fields import Domain

from ...services.net import egress


class McpServer(models.Model):
    """Locks of servers: what an administrator has locked, itself or a tool of it, its owner cannot replace.

    Deleting it, moving it to another address or adding its address once more would make a server that nobody
    has locked.
    """

    _inherit = ["woow_paas_platform.mcp_server", "woow_paas_platform.lock.mixin"]
    _name = "woow_paas_platform.mcp_server"

    is_locked = fields.Boolean(tracking=True)
    lock_reason = fields.Char(tracking=True)

    _locked_is_off = models.Constraint(
        "CHECK (is_locked IS NOT TRUE OR active IS NOT TRUE)",
        "A locked MCP server is switched off.",
    )

    def _is_run_by(self, user):
        self.ensure_one()
        # sudo: mcp_server - whose it is, read to decide
        return self.sudo().scope == "system" or user in self._managers()

    @api.model_create_multi
    def create(self, vals_list):
        for vals in vals_list:
            self._check_address(vals.get("url"))
        return super().create(vals_list)

    def _check_write(self, vals):
        result = super()._check_write(vals)
        if "url" in vals and not self._is_free_to():
            moved = self.filtered(lambda server: (server.url or "") != (vals["url"] or ""))
            for server in moved._with_locks():
                raise server._refusal_by_lock()
            if moved:
                self._check_address(vals["url"])
        self._check_lock(vals)
        return result

    def _after_write(self, vals):
        self._lock_for_owners(vals)
        if "is_locked" in vals:
            self._tell_managers()
        return super()._after_write(vals)

    def _before_unlink(self):
        if not self._is_free_to():
            for server in self._with_locks():
                raise server._refusal_by_lock()
        return super()._before_unlink()

    def _is_free_to(self):
        """Whether locks are no matter to the caller: an administrator, or Odoo itself."""
        return self.env.su or self._may_lock()

    def _with_locks(self):
        """Those among these that are locked themselves, or a tool of which is."""
        # sudo: mcp_server, mcp_tool - switches, read to decide
        return self.filtered(lambda s: s.sudo().is_locked or s._locked_tools())

    def _locked_tools(self):
        # sudo: mcp_tool - switches, read to decide
        return self.sudo().tool_ids.filtered("is_locked")

    def _refusal_by_lock(self):
        self.ensure_one()
        # sudo: mcp_server - see `_with_locks`
        return (self if self.sudo().is_locked else self._locked_tools()[0])._locked()

    @api.model
    def _check_address(self, url):
        """:raises Locked: the caller manages a server at this address that is locked, or a tool of which is"""
        if server := url and self._locked_at_address(url):
            raise server._refusal_by_lock()

    @api.model
    def _locked_at_address(self, url):
        if self._is_free_to():
            return self.browse()
        is_locked = Domain("is_locked", "=", True)
        locks = is_locked | Domain("tool_ids", "any", is_locked)
        known = self.with_context(active_test=False).search(Domain("scope", "=", "user") & locks)
        wanted = _address(url)
        return known.filtered(lambda server: _address(server.url or "") == wanted)[:1]


def _address(url):
    """Where a URL leads, however it is written.

    >>> _address("https://MCP.example.com:443/mcp/?x=1") == _address("https://mcp.example.com./%6Dcp")
    True
    """
    where = egress.origin(url)
    return (*where, unquote(urlsplit(url.strip()).path).rstrip("/")) if where else url
