"""Languages of an Odoo that runs."""

from dev.checks.testbed import OdooServer


def install(odoo: OdooServer, code: str) -> None:
    """As *Settings ▸ Languages* does."""
    [lang] = odoo.rpc("res.lang", "search", [("code", "=", code)], context={"active_test": False})
    [wizard] = odoo.rpc("base.language.install", "create", [{"lang_ids": [(6, 0, [lang])]}])
    odoo.rpc("base.language.install", "lang_install", [wizard])
