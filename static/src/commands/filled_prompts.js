import { keepInTab, readFromTab } from "../core/tab_storage";

const STORAGE_KEY = "woow_paas_platform.ai_chat.filled_prompts";
const MAX_KEPT = 10;
const MIN_LINE = 12; // characters of a line that says whose it is

/** @returns {string[]} */
function linesOf(text) {
    return text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line.length >= MIN_LINE);
}

/** Texts that servers have put into the composer: a message that holds a line of one is not the person's alone. */
export class FilledPrompts {
    constructor() {
        /** @type {{server: string, text: string}[]} the latest last */
        this.kept = readFromTab(STORAGE_KEY).kept || [];
    }

    add(server, text) {
        this.kept = [...this.kept, { server, text }].slice(-MAX_KEPT);
        keepInTab(STORAGE_KEY, { kept: this.kept });
    }

    /** @returns {string|undefined} name of the server whose prompt a message holds */
    serverOf(message) {
        const lines = new Set(linesOf(message));
        const isIn = ({ text }) =>
            message.includes(text) || linesOf(text).some((line) => lines.has(line));
        return this.kept.findLast(isIn)?.server;
    }
}
