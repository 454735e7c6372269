from odoo import models


class ToolboxOperation(models.Model):
    _inherit = "woow_paas_platform.toolbox_operation"

    def _annotations(self):
        """What the HTTP method promises."""
        return {
            "readOnlyHint": self.method in ("GET", "HEAD"),
            "destructiveHint": self.method == "DELETE",
        }

    def _policy_facts(self):
        return {
            "policy": "default",
            "annotations": self._annotations(),
            "trust": "annotations",
        }
