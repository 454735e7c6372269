"""Folders in which people keep their conversations."""

from odoo import http
from odoo.http import request

from ..chat import READ, ROUTE, folder_or_404
from ..dispatcher import body

FOLDER = "woow_paas_platform.conversation_folder"


class FoldersController(http.Controller):
    @http.route("/api/ai/folders", **READ)
    def folders(self):
        folders = request.env[FOLDER]._folders_of_caller()
        return {"folders": [folder._folder_data() for folder in folders]}

    @http.route("/api/ai/folders", methods=["POST"], **ROUTE)
    def add_folder(self):
        folder = request.env[FOLDER]._make_folder(body("NewName")["name"])
        return request.make_json_response(folder._folder_data(), status=201)

    @http.route("/api/ai/folders/<int:folder_id>", methods=["PATCH"], **ROUTE)
    def rename_folder(self, folder_id):
        folder = folder_or_404(folder_id)
        folder._rename_folder(body("NewName")["name"])
        return folder._folder_data()

    @http.route("/api/ai/folders/<int:folder_id>", methods=["DELETE"], **ROUTE)
    def delete_folder(self, folder_id):
        folder_or_404(folder_id)._delete_folder()
        return request.make_response("", status=204)
