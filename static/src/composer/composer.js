import { Component, onMounted, onPatched, status, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { MentionChips } from "../mentions/mention_chips";
import { mentionAt, withMention } from "../mentions/mention_text";
import { AttachMenu } from "./attach_menu";
import { FileChip } from "./file_chip";
import { FileDrop } from "./file_drop";
import { fileOf, isLong, MAX_TEXT } from "./pending_files";
import { isTouch, pressedKey } from "../core/keys";

/** @returns {boolean} whether a press on Enter sends; where a finger writes, it begins a line, and the button sends */
export const isSending = ({ shiftKey, ctrlKey, metaKey }) =>
    ctrlKey || metaKey || (!shiftKey && !isTouch());

/** Where the person writes. The text belongs to its owner, so that a draft outlives the view. */
export class Composer extends Component {
    static template = "woow_paas_platform.Composer";
    static components = { AttachMenu, FileChip, FileDrop, MentionChips };
    static props = {
        /** Reactive; its `draft` is the text, read anew whenever it is drawn. */
        owner: Object,
        /** Files that wait to be sent, see PendingFiles; without `onAttach` none can be added. */
        files: { type: Array, optional: true },
        filesError: { type: [String, Object], optional: true },
        onAttach: { type: Function, optional: true },
        /** (text): makes a file of it and takes it away once the server has that. */
        onAttachText: { type: Function, optional: true },
        /** What happened to them last, for who hears the page. */
        filesStatus: { type: [String, Object], optional: true },
        onDetach: { type: Function, optional: true },
        /** Sends a file again that did not arrive. */
        onRetry: { type: Function, optional: true },
        /** Lets the person choose something that a server has. */
        onAttachFromServer: { type: Function, optional: true },
        /** Changes when another conversation is shown: the focus goes to the input then. */
        focusKey: { type: [String, Number], optional: true },
        /** Names the conversation; a new chat keeps its name when it becomes one. */
        place: { type: [String, Number], optional: true },
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
        onMounted(() => this.showText());
        onPatched(() => this.showText());
        useEffect(
            () => this.fit(),
            () => [this.text]
        );
        useEffect(
            () => this.sendWaiting(),
            () => [Boolean(this.props.isBusy)]
        );
        useEffect(
            () => this.loadPrompts(),
            () => [this.props.commands?.place]
        );
        useEffect(
            () => {
                this.props.mentions?.searchAgain();
            },
            () => [this.props.mentions?.assistantId]
        );
        useEffect(
            () => this.focus(),
            () => [this.props.focusKey, this.props.isDisabled, this.props.isAside]
        );
    }

    get text() {
        return this.props.owner.draft;
    }

    /** Between a rendering and this moment more may have been typed, and the owner has it. */
    showText() {
        const { el } = this.input;
        if (el.value !== this.text) {
            el.value = this.text;
        }
    }

    /** As high as its text; the style sheet sets the limit. */
    fit() {
        const { el } = this.input;
        el.style.height = "auto";
        el.style.height = `${el.scrollHeight}px`;
    }

    /** Not on touch screens, where the keyboard would cover half of what there is to read. */
    focus() {
        if (!this.props.isAside && !isTouch()) {
            this.input.el.focus({ preventScroll: true });
        }
    }

    /** What was sent is answered: there is something to read. */
    afterSending() {
        if (isTouch()) {
            this.input.el.blur();
        } else {
            this.input.el.focus({ preventScroll: true });
        }
    }

    get enterKey() {
        return isTouch() ? "enter" : "send";
    }

    get hasContent() {
        return Boolean(this.text.trim() || this.props.files?.length);
    }

    get canSend() {
        return this.hasContent && !this.props.isDisabled && !this.props.isBusy;
    }

    get canSteer() {
        const { commands, files, onSteer, isRunning } = this.props;
        const { text } = this;
        const isText = Boolean(text.trim()) && !files?.length && !this.records.length;
        return Boolean(onSteer) && isRunning && isText && !commands?.find(text);
    }

    steer() {
        if (this.canSend && !this.props.commands?.refuses(this.text)) {
            this.props.onSteer(this.text);
            this.afterSending();
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
        const { clipboardData: data } = ev;
        const text = data?.getData("text/plain") || "";
        // cells of a spreadsheet come with a picture of themselves
        const isText = text.trim() && data.types.includes("text/html");
        const files = isText ? [] : [...(data?.files || [])];
        if (!files.length && isLong(text)) {
            files.push(fileOf(text));
        }
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
        const { commands } = this.props;
        return commands && !this.menu.isClosed ? commands.matching(this.text) : [];
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
        this.props.onInput(ev.target.value);
        this.loadPrompts();
        if (!ev.isComposing) {
            this.findMention();
        }
    }

    loadPrompts() {
        if (this.text.startsWith("/")) {
            this.props.commands?.loadPrompts();
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
            this.pick(this.props.commands.find(this.text) || offers[menu.index]);
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
        this.props.onInput(this.props.mentions.remove(record, this.text));
        this.input.el.focus({ preventScroll: true });
    }

    /** What is written where; what is sent later is sent only if it is still this. */
    get written() {
        return `${this.props.place} ${this.text}`;
    }

    async send() {
        const { commands } = this.props;
        const { text, written } = this;
        if (commands?.isUnsure(text)) {
            await commands.loadPrompts();
            if (written !== this.written || status(this) === "destroyed") {
                return;
            }
        }
        const command = commands?.find(text);
        if (command) {
            return this.pick(command);
        }
        const mayBeCommand = this.props.isBusy && commands?.isUnsure(text);
        if (!mayBeCommand && commands?.refuses(text)) {
            return; // the text stays, to be corrected
        }
        if (text.length > MAX_TEXT && this.props.onAttachText) {
            return this.props.onAttachText(text);
        }
        // What is sent before the chat is ready goes as soon as it is, unless it is changed first.
        this.waiting = this.hasContent && this.props.isBusy ? written : null;
        if (this.canSend) {
            this.props.onSend(text);
            this.afterSending();
        }
    }

    sendWaiting() {
        const { waiting } = this;
        if (this.props.isBusy) {
            return;
        }
        this.waiting = null;
        if (this.canSend && waiting === this.written) {
            this.send();
        }
    }

    onKeydown(ev) {
        const key = pressedKey(ev);
        if (key && !ev.shiftKey && this.onMenuKey(key)) {
            ev.preventDefault();
            ev.stopPropagation();
        } else if (key === "Enter" && isSending(ev)) {
            ev.preventDefault();
            this.send();
        } else if (key === "Escape" && !ev.shiftKey && this.canStop) {
            ev.preventDefault();
            ev.stopPropagation();
            this.props.onStop();
        }
    }
}
