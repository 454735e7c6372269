import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatSize } from "../core/format";
import { signInUrl } from "../core/try_again";
import { isPicture } from "./attachments";

const OFFICE = "application/vnd.openxmlformats-officedocument.";
/** What a document has instead of pages: the words for one, for several, and for the first of more. */
const COUNTED = {
    [`${OFFICE}presentationml.presentation`]: {
        one: _t("1 slide"),
        many: (count) => _t("%(count)s slides", { count }),
        first: (read, count) => _t("first %(read)s of %(count)s slides", { read, count }),
    },
    [`${OFFICE}spreadsheetml.sheet`]: {
        one: _t("1 sheet"),
        many: (count) => _t("%(count)s sheets", { count }),
        first: (read, count) => _t("first %(read)s of %(count)s sheets", { read, count }),
    },
};
const PAGES = {
    one: _t("1 page"),
    many: (count) => _t("%(count)s pages", { count }),
    first: (read, count) => _t("first %(read)s of %(count)s pages", { read, count }),
};

/** A file that waits for its message: on its way, kept by the server, or not arrived. */
export class FileChip extends Component {
    static template = "woow_paas_platform.FileChip";
    static props = {
        /** See PendingFiles. */
        file: Object,
        onDetach: Function,
        onRetry: { type: Function, optional: true },
    };

    signInUrl = signInUrl;

    get state() {
        const { kept, failure } = this.props.file;
        return kept ? "kept" : failure ? "failed" : "sending";
    }

    get title() {
        const { name, kept } = this.props.file;
        return kept?.source ? `${kept.source.server} · ${kept.source.uri}` : name;
    }

    get picture() {
        const { kept } = this.props.file;
        return kept && isPicture(kept) ? kept.url : "";
    }

    get icon() {
        return this.props.file.kept?.source ? "fa-plug" : "fa-file-o";
    }

    /** Its size and its pages, what it is doing, or why it is not here. */
    get facts() {
        const { kept, size, progress, failure } = this.props.file;
        if (failure) {
            return failure;
        }
        if (!kept && progress >= 1) {
            return _t("Reading…");
        }
        const bytes = kept?.size || size;
        return [kept ? this.pages : "", bytes ? formatSize(bytes) : ""].filter(Boolean).join(" · ");
    }

    /** A page that a model is shown in part only counts as not read, unless it is the first. */
    get pages() {
        const { pages: count = 0, pages_read: read = 0, mimetype } = this.props.file.kept;
        const words = COUNTED[mimetype] || PAGES;
        if (!count) {
            return "";
        }
        if (read < count) {
            return words.first(Math.max(1, read), count);
        }
        return count === 1 ? words.one : words.many(count);
    }

    get removeLabel() {
        return _t("Remove %(name)s", { name: this.props.file.name });
    }

    get retryLabel() {
        return _t("Try again: %(name)s", { name: this.props.file.name });
    }

    get sendingLabel() {
        return _t("Sending %(name)s", { name: this.props.file.name });
    }
}
