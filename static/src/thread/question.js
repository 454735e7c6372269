import { Component, markup, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { formatMomentFull } from "../core/format";
import { Attachments } from "../composer/attachments";
import { isSending } from "../composer/composer";
import { MentionChips } from "../mentions/mention_chips";
import { isSame, withoutMention } from "../mentions/mention_text";
import { CopyButton } from "../markdown/copy_button";
import { TryAgain } from "../core/try_again";
import { Versions } from "../turn/versions";
import { pressedKey } from "../core/keys";

/** What the person said; it can be asked in other words, and the earlier wordings looked at. */
export class Question extends Component {
    static template = "woow_paas_platform.Question";
    static components = { Attachments, CopyButton, MentionChips, TryAgain, Versions };
    static props = {
        message: Object,
        /** Whether nothing is under way that a new wording would disturb. */
        canEdit: { type: Boolean, optional: true },
        onResend: { type: Function, optional: true },
        /** Takes a message that failed back into the composer. */
        onEdit: { type: Function, optional: true },
        /** Takes a message back that waits for its turn. */
        onCancelQueued: { type: Function, optional: true },
        onAskAnew: { type: Function, optional: true },
        onShowVersion: { type: Function, optional: true },
        /** (text): keeps it as a prompt. */
        onSave: { type: Function, optional: true },
    };

    setup() {
        this.editor = useRef("editor");
        this.state = useState({ isEditing: false, text: "", records: [] });
        useEffect(
            (el) => el?.focus(),
            () => [this.editor.el]
        );
        // What could not be sent is not lost.
        useEffect(
            (unsent) => unsent && this.startEdit(),
            () => [this.props.message.unsent]
        );
    }

    get moment() {
        return formatMomentFull(this.props.message.date);
    }

    /** What the person wrote is text; only a message without it (from Discuss) is server HTML. */
    get body() {
        const { text, html, files } = this.props.message;
        return text || !html || files.length ? text : markup(html);
    }

    /** Whether it was deleted in Discuss. */
    get isRemoved() {
        const { id, text, html, files, records, status } = this.props.message;
        if (!id || status !== "sent" || text || files.length || records.length) {
            return false;
        }
        const { body } = new DOMParser().parseFromString(html || "", "text/html");
        return !body.textContent.trim() && !body.querySelector("img, video, audio, a");
    }

    get copyLabel() {
        return _t("Copy question");
    }

    get isEditable() {
        const { canEdit, message } = this.props;
        return Boolean(canEdit && message.id && message.text && message.status === "sent");
    }

    startEdit() {
        const { text, records } = this.props.message.unsent || this.props.message;
        Object.assign(this.state, { isEditing: true, text, records: [...records] });
    }

    cancelEdit() {
        this.state.isEditing = false;
    }

    removeRecord(record) {
        this.state.records = this.state.records.filter((one) => !isSame(one, record));
        this.state.text = withoutMention(this.state.text, record);
    }

    saveEdit() {
        const { message } = this.props;
        const text = this.state.text.trim();
        const records = [...this.state.records];
        this.state.isEditing = false;
        if (text && (text !== message.text || records.length < message.records.length)) {
            this.props.onAskAnew(message, text, records);
        }
    }

    onKeydown(ev) {
        const key = pressedKey(ev);
        if (key === "Escape") {
            ev.stopPropagation();
            this.cancelEdit();
        } else if (key === "Enter" && isSending(ev)) {
            ev.preventDefault();
            this.saveEdit();
        }
    }

    // Wordings ---------------------------------------------------------------

    get versionIndex() {
        const { versions, turnId } = this.props.message;
        return versions.indexOf(turnId);
    }

    showVersion(index) {
        this.props.onShowVersion(this.props.message.versions[index]);
    }
}
