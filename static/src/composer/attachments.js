import { Component } from "@odoo/owl";

/** Pictures that the server shows inline; everything else is played or downloaded. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function isPicture({ mimetype }) {
    return PICTURES.includes(mimetype);
}

/** Files of a call or of a message: pictures and sound at once, the rest as links. */
export class Attachments extends Component {
    static template = "woow_paas_platform.Attachments";
    static props = {
        files: Array,
        /** Aligned with what a person says. */
        isAtEnd: { type: Boolean, optional: true },
    };

    /** What can be looked at stands above what is only named. */
    get rows() {
        const { files } = this.props;
        const isFile = (file) => this.kind(file) === "file";
        return [files.filter((file) => !isFile(file)), files.filter(isFile)].filter(
            (row) => row.length
        );
    }

    kind(file) {
        if (isPicture(file)) {
            return "picture";
        }
        return file.mimetype.startsWith("audio/") ? "sound" : "file";
    }

    origin({ source }) {
        return source ? `${source.server} · ${source.uri}` : "";
    }
}
