import { markRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";
import { entriesByServer, matchingEntries, resourceEntries } from "./resource_list";

/** Rows that the list shows before more are asked for. */
export const PAGE_SIZE = 50;

const CLOSED = {
    /** Counts how often the list was opened; 0: it is closed. */
    visit: 0,
    isLoading: false,
    /** Everything that the servers have, see `resourceEntries`. */
    entries: [],
    /** Servers that did not say what they have: {server, message}[]. */
    problems: [],
    search: "",
    limit: PAGE_SIZE,
    /** The template whose variables are being written, or null. */
    template: null,
    /** What is being read, or null. */
    reading: null,
    error: null,
};

let visits = 0;

/** Resources of the conversation's servers: what there is, and what becomes a file of the next message. */
export class ResourceCenter extends Reactive {
    /** @param {import("./ai_chat_service").AiChatStore} chat */
    constructor(chat) {
        super();
        this.chat = chat;
        Object.assign(this, CLOSED);
    }

    get isOpen() {
        return Boolean(this.visit);
    }

    get matching() {
        return matchingEntries(this.entries, this.search);
    }

    /** What of it is shown. */
    get shown() {
        return this.matching.slice(0, this.limit);
    }

    get groups() {
        return entriesByServer(this.shown);
    }

    get hasMore() {
        return this.matching.length > this.limit;
    }

    dismiss() {
        Object.assign(this, CLOSED);
    }

    /** Asks the servers of the chat, also of one that has not begun. */
    async open() {
        const { commands, servers } = this.chat;
        commands.dismiss();
        Object.assign(this, CLOSED, { visit: ++visits, isLoading: true });
        const listed = await this.ask(this.read());
        if (listed) {
            const { chosenIds } = servers;
            const isOn = ({ server }) => !chosenIds || chosenIds.includes(server.id);
            this.entries = markRaw(resourceEntries(listed).filter(isOn));
            this.problems = listed.problems.filter(isOn);
        }
    }

    /** With nobody to chat with there is nothing to choose, and the chat says so. */
    async read() {
        const chatRef = await this.chat.loadedRef();
        return chatRef ? this.chat.api.resources(chatRef) : this.dismiss();
    }

    find(search) {
        Object.assign(this, { search, limit: PAGE_SIZE });
    }

    showMore() {
        this.limit += PAGE_SIZE;
    }

    choose(entry) {
        if (entry.fields.length) {
            Object.assign(this, { template: entry, error: null });
        } else {
            this.attach(entry);
        }
    }

    /** Back from a template to the list. */
    back() {
        Object.assign(this, { template: null, error: null });
    }

    /**
     * A chat that has not begun begins with its first file.
     *
     * @param {Object<string, string>} [args] of a template
     */
    async attach(entry, args) {
        if (this.reading || !this.chat.files.hasRoom(this.chat.currentId)) {
            return;
        }
        Object.assign(this, { reading: entry, error: null });
        const id = this.chat.currentId ?? (await this.chat.startConversation())?.id;
        if (!id) {
            return this.dismiss(); // the chat says why
        }
        const attached = await this.ask(this.chat.api.attachResource(id, entry, args));
        if (attached) {
            this.dismiss();
            this.chat.files.addSent(id, entry.name, attached);
        }
    }

    async complete({ server, uri }, argument, value, args) {
        const { chatRef, api } = this.chat;
        try {
            return await api.complete(chatRef, { server, uri }, { argument, value, args });
        } catch {
            return [];
        }
    }

    /** @returns {Promise<Object|undefined>} nothing when it failed, or when the list was closed meanwhile */
    async ask(request) {
        const { visit } = this;
        const isWanted = () => this.visit === visit;
        try {
            const answer = await request;
            return isWanted() ? answer : undefined;
        } catch (error) {
            if (isWanted()) {
                this.error = error;
            }
        } finally {
            if (isWanted()) {
                Object.assign(this, { isLoading: false, reading: null });
            }
        }
    }
}
