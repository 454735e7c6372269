import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { MentionChips } from "../mentions/mention_chips";
import { mentionAt, withMention } from "../mentions/mention_text";
import { AttachMenu } from "./attach_menu";
import { FileChip } from "./file_chip";
import { FileDrop } from "./file_drop";

/** Where the person writes. The text belongs to the owner, so that a draft outlives the view. */
export class Composer extends Component {
    static template = "woow_paas_platform.Composer";
    static components = { AttachMenu, FileChip, FileDrop, MentionChips };
    static props = {
        text: String,
        /** Files that wait to be sent, see PendingFiles; without `onAttach` none can be added. */
        files: { type: Array, optional: true },
        filesError: { type: [String, Object], optional: true },
        onAttach: { type: Function, optional: true },
        /** What happened to them last, for who hears the page. */
        filesStatus: { type: [String, Object], optional: true },
        onDetach: { type: Function, optional: true },
        /** Sends a file again that did not arrive. */
        onRetry: { type: Function, optional: true },
        /** Lets the person choose something that a server has. */
        onAttachFromServer: { type: Function, optional: true },
        /** Changes when another conversation is shown: the focus goes to the input then. */
        focusKey: { type: [String, Number], optional: true },
        /** Something else has the focus and gives it back when it is done. */
        isAside: { type: Boolean, optional: true },
        placeholder: { type: [String, Object], optional: true },
        isDisabled: { type: Boolean, optional: true },
        /** The message is on its way. */
        isBusy: { type: Boolean, optional: true },
        /** A turn runs: it can be stopped, and what is sent now is queued. */
        isRunning: { type: Boolean, optional: true },
        isStopping: { type: Boolean, optional: true },
        /** What is sent now may enter the turn that runs: called instead of `onSend`. */
        onSteer: { type: [Function, { value: null }], optional: true },
        onInput: Function,
        onSend: Function,
        onStop: { type: Function, optional: true },
        /** See CommandCenter; without it a slash is a slash. */
        commands: { type: Object, optional: true },
        /** See MentionCenter; without it an `@` is an `@`. */
        mentions: { type: Object, optional: true },
    };

    setup() {
        this.input = useRef("input");
        this.menuId = uniqueId("o_ai_chat_commands_");
        this.menu = useState({ index: 0, isClosed: false });
        useEffect(
            () => this.fit(),
            () => [this.props.text]
        );
        useEffect(
            () => this.focus(),
            () => [this.props.focusKey, this.props.isDisabled, this.props.isAside]
        );
    }

    /** As high as its text; the style sheet sets the limit. */
    fit() {
        const { el } = this.input;
        el.style.height = "auto";
        el.style.height = `${el.scrollHeight}px`;
    }

    /** Not on touch screens, where the keyboard would cover half of what there is to read. */
    focus() {
        if (!this.props.isAside && !window.matchMedia("(pointer: coarse)").matches) {
            this.input.el.focus({ preventScroll: true });
        }
    }

    get hasContent() {
        return Boolean(this.props.text.trim() || this.props.files?.length);
    }

    get canSend() {
        return this.hasContent && !this.props.isDisabled && !this.props.isBusy;
    }

    get canSteer() {
        const { commands, files, text, onSteer, isRunning } = this.props;
        const isText = Boolean(text.trim()) && !files?.length && !this.records.length;
        return Boolean(onSteer) && isRunning && isText && !commands?.find(text);
    }

    steer() {
        if (this.canSend && !this.props.commands?.refuses(this.props.text)) {
            this.props.onSteer(this.props.text);
            this.input.el.focus({ preventScroll: true });
        }
    }

    get canStop() {
        return Boolean(this.props.isRunning && !this.props.isStopping);
    }

    get sendLabel() {
        return this.props.isRunning ? _t("Send after this answer") : _t("Send");
    }

    // Files ------------------------------------------------------------------

    onPaste(ev) {
        const files = [...(ev.clipboardData?.files || [])];
        if (files.length && this.props.onAttach) {
            ev.preventDefault();
            this.props.onAttach(files);
        }
    }

    onFiles(files) {
        this.props.onAttach(files);
        this.input.el.focus({ preventScroll: true });
    }

    // Slash commands ---------------------------------------------------------

    get offers() {
        const { commands, text } = this.props;
        return commands && !this.menu.isClosed ? commands.matching(text) : [];
    }

    /** Of what is open: commands or records. */
    get menuLength() {
        return this.offers.length || this.choices.length;
    }

    get activeOfferId() {
        return this.menuLength ? `${this.menuId}_${this.menu.index}` : undefined;
    }

    onInput(ev) {
        Object.assign(this.menu, { index: 0, isClosed: false });
        if (ev.target.value.startsWith("/")) {
            this.props.commands?.loadPrompts();
        }
        this.props.onInput(ev.target.value);
        if (!ev.isComposing) {
            this.findMention();
        }
    }

    pick(command) {
        this.menu.isClosed = true;
        this.props.onInput("");
        this.props.commands.run(command);
    }

    pickActive() {
        const { offers, choices, menu } = this;
        if (offers.length) {
            this.pick(this.props.commands.find(this.props.text) || offers[menu.index]);
        } else {
            this.mention(choices[Math.min(menu.index, choices.length - 1)]);
        }
    }

    /** @returns {boolean} whether the key was for the menu */
    onMenuKey(key) {
        const { menuLength } = this;
        const step = { ArrowDown: 1, ArrowUp: -1 }[key];
        if (!menuLength) {
            return false;
        }
        if (step) {
            this.menu.index = (this.menu.index + step + menuLength) % menuLength;
        } else if (key === "Tab" || key === "Enter") {
            this.pickActive();
        } else if (key === "Escape") {
            this.menu.isClosed = true;
        } else {
            return false;
        }
        return true;
    }

    // Records ----------------------------------------------------------------

    get records() {
        return this.props.mentions?.attached || [];
    }

    /** Those that what is written behind an `@` may mean. */
    get choices() {
        return this.menu.isClosed ? [] : this.props.mentions?.found || [];
    }

    findMention() {
        const { el } = this.input;
        this.props.mentions?.search(mentionAt(el.value, el.selectionStart)?.query || "");
    }

    leaveMention() {
        this.props.mentions?.search("");
    }

    mention(record) {
        const { el } = this.input;
        const place = mentionAt(el.value, el.selectionStart);
        if (!place) {
            return this.leaveMention(); // the caret is elsewhere by now
        }
        const { text, caret } = withMention(el.value, place, el.selectionStart, record);
        this.menu.index = 0;
        this.props.mentions.attach(record);
        this.props.onInput(text);
        el.value = text; // before the view does it, which would move the caret
        el.setSelectionRange(caret, caret);
    }

    detachRecord(record) {
        this.props.onInput(this.props.mentions.remove(record, this.props.text));
        this.input.el.focus({ preventScroll: true });
    }

    send() {
        const { commands, text } = this.props;
        const command = commands?.find(text);
        if (command) {
            return this.pick(command);
        }
        if (commands?.refuses(text)) {
            return; // the text stays, to be corrected
        }
        if (this.canSend) {
            this.props.onSend(this.props.text);
            this.input.el.focus({ preventScroll: true });
        }
    }

    onKeydown(ev) {
        // 229 is what Safari reports for the Enter that ends a composition
        const isComposing = ev.isComposing || ev.keyCode === 229;
        if (!isComposing && !ev.shiftKey && this.onMenuKey(ev.key)) {
            ev.preventDefault();
            ev.stopPropagation();
        } else if (ev.key === "Enter" && !ev.shiftKey && !isComposing) {
            ev.preventDefault();
            this.send();
        } else if (ev.key === "Escape" && !ev.shiftKey && !isComposing && this.canStop) {
            ev.preventDefault();
            ev.stopPropagation();
            this.props.onStop();
        }
    }
}
