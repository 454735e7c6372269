from datetime import timedelta

from odoo import api, fields, models

from ...tools import db, host, limits

MAX_KNOWN = 2_000  # tools of one server, with those that it has no more


class McpServer(models.Model):
    """Tool sync: what the server offered at the last connection."""

    _inherit = "woow_paas_platform.mcp_server"

    last_sync = fields.Datetime("Tools Last Loaded", readonly=True, copy=False)
    last_attempt = fields.Datetime(
        readonly=True, copy=False, help="Time of the last attempt, whether it succeeded or not."
    )
    protocol_version = fields.Char(readonly=True, copy=False)
    detected_transport = fields.Char(readonly=True, copy=False)

    @api.model
    def _cron_sync_tools(self):
        """Read the tools of servers again that were not read for long, in the background."""
        dbname = self.env.cr.dbname
        if ids := db.transaction(dbname, lambda env: env[self._name]._take_due_for_sync().ids):
            host.current().sync_later(dbname, ids)

    @api.model
    def _take_due_for_sync(self):
        """Those that were not read for long; the next run does not ask them again meanwhile."""
        now = fields.Datetime.now()
        before = now - timedelta(hours=limits.get(self.env, "sync_interval_hours"))
        due = self.search(
            ["|", ("last_attempt", "=", False), ("last_attempt", "<", before)],
            order="last_attempt asc nulls first, id",
        )._asked_by_odoo()
        due.last_attempt = now
        return due

    def _count_checks(self):
        """:raises TooOften: a person had servers asked too often; administrators are not counted"""
        if not self.env.su and not self.env.user.has_group("woow_paas_platform.group_admin"):
            for _server in self:
                self.env["woow_paas_platform.mcp_check"]._count_one()

    def _sync_after_commit(self, notify=False):
        """:param notify: tell the current user what came of it"""
        ids, dbname, uid = self.ids, self.env.cr.dbname, self.env.uid if notify else None
        if ids and not self.env.context.get("woow_no_sync"):
            self._count_checks()
            self.env.cr.postcommit.add(lambda: host.current().sync_later(dbname, ids, uid))

    def _record_variant(self, transport, protocol_version):
        """What a session has found out: tried first from now on."""
        for server in self:
            if (server.detected_transport, server.protocol_version) != (
                transport,
                protocol_version,
            ):
                server.write(
                    {"detected_transport": transport, "protocol_version": protocol_version}
                )

    def _apply_discovery(self, discovery):
        """Never deletes a tool that somebody has decided about, and never switches one on again.

        :return: numbers of (new, changed, gone) tools
        """
        self.ensure_one()
        self._lock()  # of two readings at once the second one is run again and sees the tools of the first
        Tool = self.env["woow_paas_platform.mcp_tool"].sudo()  # sudo: rows follow their server
        known = {
            tool.name: tool
            for tool in Tool.with_context(active_test=False).search([("server_id", "=", self.id)])
        }
        names = {found.name for found in discovery.tools}
        known = self._with_room(known, names)
        known_names = set(known)
        at_first = self.sudo().tools_at_first or {}  # sudo: its own, of an import
        off, policies = set(at_first.get("off") or ()), at_first.get("policy") or {}
        left = MAX_KNOWN - len(known)
        added = changed = 0
        limit = limits.get(self.env, "max_tools_per_server")
        room = limit - sum(tool.active for tool in known.values())
        for found in discovery.tools:
            vals = Tool._vals_from_discovery(found)
            if tool := known.pop(found.name, None):
                changed += tool._found_again(vals)
                continue
            if added >= left:
                break
            added += 1
            is_on = room > 0 and found.name not in off
            policy = {"approval_policy": policies.get(found.name, "default")}
            Tool._add_discovered(self, vals | policy, active=is_on)
            room -= found.name not in off
        gone = Tool.union(*known.values()).filtered("available")
        gone.available = False
        self._record_health(discovery)
        notes = []
        if room < 0:
            notes.append(
                self.env._(
                    "The server offers more than %(limit)s tools. The remaining ones were added switched off.",
                    limit=limit,
                )
            )
        if discovery.too_large:
            notes.append(
                self.env._(
                    "%(count)s tools were left out because their definitions are too large.",
                    count=discovery.too_large,
                )
            )
        if discovery.is_cut or len(names - known_names) > left:
            notes.append(
                self.env._("The server's list of tools is too long to be read completely.")
            )
        message = " ".join(notes) or False
        self.sudo().write({"last_sync": fields.Datetime.now(), "state_message": message})
        self._tell_managers()
        return added, changed, len(gone)

    def _with_room(self, known, names):
        """Forget tools that are gone, the oldest first, where a server that renames its tools again and again has
        filled its place. What somebody has decided about stays: it might come back.

        :param known: tools by name
        :param names: of those that the server offers now
        :return: `known` without those that were forgotten
        """
        surplus = len(known) + len(names - known.keys()) - MAX_KNOWN
        if surplus <= 0:
            return known
        gone = self.env["woow_paas_platform.mcp_tool"].union(
            *(tool for name, tool in known.items() if name not in names)
        )
        forgotten = gone._undecided().sorted("id")[:surplus]
        remaining = {name: tool for name, tool in known.items() if tool not in forgotten}
        forgotten._forget()
        return remaining
