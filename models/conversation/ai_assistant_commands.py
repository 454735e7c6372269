from markupsafe import Markup
from odoo import models

from ...tools import host, mcp_switch, server_files

MAX_ABOUT = 1_000  # characters of a description that a line shows


class AiAssistant(models.Model):
    """Slash commands: answers of `/mcp` and `/mcp tools`, ``[{"name", "about"}]``, in the chat and in Discuss alike."""

    _inherit = "ai.assistant"

    def _server_rows(self, servers):
        """The state of each server of a chat, as everybody who uses the chat may know it."""
        states = dict(servers._fields["state"]._description_selection(self.env))
        return [
            {
                "name": data["name"],
                "about": " · ".join(
                    filter(
                        None,
                        [
                            states[data["state"]],
                            self._count_of_tools(data["tool_count"]),
                            data["description"][:MAX_ABOUT],
                        ],
                    )
                ),
            }
            for data in self._mcp_config(servers, servers)["servers"]
        ]

    def _count_of_tools(self, count):
        one = self.env._("1 tool")
        return one if count == 1 else self.env._("%(count)s tools", count=count)

    def _tool_rows(self, servers):
        """The tools that a chat with these servers may call now."""
        called = servers._unambiguous_names()
        tools = self._usable_tools(servers).sorted(lambda t: (called[t.server_id], t.name))
        return [
            {
                "name": f"{called[tool.server_id]}.{tool.name}",
                "about": (tool.description or tool.title or "")[:MAX_ABOUT],
            }
            for tool in tools
        ]

    def _command_answer(self, command, servers):
        """:param command: `/mcp` or `/mcp tools`
        :return: ``{"title", "rows"}``"""
        if command == "/mcp tools":
            title, rows = self.env._("Tools of this conversation"), self._tool_rows(servers)
        else:
            title = self.env._("MCP servers of this conversation")
            rows = self._server_rows(servers)
        return {"title": title, "rows": rows + self._off_rows()}

    def _off_rows(self):
        """Says it where all of MCP is switched off, so that nobody looks for servers in vain."""
        notice = mcp_switch.notice(self.env)
        return [{"name": "MCP", "about": notice}] if notice else []

    def _reload_rows(self, servers):
        """:return: by id, a line for each server, which says who may reload it"""
        managed, called = self._managed_of(servers), servers._unambiguous_names()
        not_allowed = self.env._("Only those who manage this server can reload it.")
        return {
            server.id: {"name": called[server], "about": "" if server in managed else not_allowed}
            for server in servers.sorted(lambda server: (server.scope, server.name))
        }

    def _may_reread_file(self):
        return bool(server_files.path()) and self.env.user.has_group(
            "woow_paas_platform.group_admin"
        )

    def _reread_file(self):
        """A line on the operator's file, if the person may have it read; its servers follow with the commit."""
        if not self._may_reread_file():
            return []
        problem = server_files.reload()
        dbname = self.env.cr.dbname
        self.env.cr.postcommit.add(lambda: host.current().apply_file_later(dbname))
        return [self._file_row(problem)]

    def _file_row(self, problem):
        """:param problem: what is wrong with the operator's file that was just read, ``""`` if nothing is"""
        return {"name": server_files.path().name, "about": problem or self.env._("Reloaded.")}

    def _managed_of(self, servers):
        """Those of these servers whose tools the caller may reload."""
        return servers.with_env(self.env(su=False))._filtered_access("write")


def as_html(title, rows):
    """The lines as a message of Discuss."""
    lines = [Markup("<dt>%(name)s</dt><dd>%(about)s</dd>") % row for row in rows]
    return Markup("<b>%s</b><dl>%s</dl>") % (title, Markup().join(lines))
