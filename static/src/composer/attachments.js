import { Component } from "@odoo/owl";

/** Pictures that the server shows inline; everything else is played or downloaded. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Files of a call or of a message: pictures and sound at once, the rest as links. */
export class Attachments extends Component {
    static template = "woow_paas_platform.Attachments";
    static props = {
        files: Array,
    };

    kind({ mimetype }) {
        if (PICTURES.includes(mimetype)) {
            return "picture";
        }
        return mimetype.startsWith("audio/") ? "sound" : "file";
    }

    origin({ source }) {
        return source ? `${source.server} · ${source.uri}` : "";
    }
}
