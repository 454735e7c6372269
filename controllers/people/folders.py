"""Folders in which people keep their conversations, with what holds for them."""

from odoo import http
from odoo.http import request

from ..chat import READ, ROUTE, folder_or_404, record_or_404
from ..dispatcher import body

FOLDER = "woow_paas_platform.conversation_folder"


class FoldersController(http.Controller):
    @http.route("/api/ai/folders", **READ)
    def folders(self):
        return {"folders": request.env[FOLDER]._folders_of_caller()._folder_data()}

    @http.route("/api/ai/folders", methods=["POST"], **ROUTE)
    def add_folder(self):
        values = body("NewFolder")
        folder = request.env[FOLDER]._make_folder(values["name"])
        return request.make_json_response(self._changed(folder, values), status=201)

    @http.route("/api/ai/folders/<int:folder_id>", methods=["PATCH"], **ROUTE)
    def change_folder(self, folder_id):
        folder, values = folder_or_404(folder_id), body("FolderChange")
        if values["name"] is not None:
            folder._rename_folder(values["name"])
        return self._changed(folder, values)

    def _changed(self, folder, values):
        """Take over what a body says of a folder besides its name; what is left out stays.

        :return: data of the folder
        """
        if values["instructions"] is not None:
            folder._instruct(values["instructions"])
        if values["attachment_ids"] is not None:
            folder._set_files(values["attachment_ids"])
        if values["res_id"] is not None:
            folder._set_record(
                record_or_404(values["res_model"], values["res_id"]) if values["res_id"] else None
            )
        (data,) = folder._folder_data()
        return data

    @http.route("/api/ai/folders/<int:folder_id>", methods=["DELETE"], **ROUTE)
    def delete_folder(self, folder_id):
        folder_or_404(folder_id)._delete_folder()
        return request.make_response("", status=204)
