import { markRaw, toRaw } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { registry } from "@web/core/registry";
import { Reactive } from "@web/core/utils/reactive";
import { AiApi } from "../core/ai_api";
import { ChatThread } from "./chat_thread";

/** Conversations that one request brings. */
export const LIST_SIZE = 30;

/** Milliseconds after which the list is read again while an answer goes on that is not shown. */
export const LIST_REFRESH = 8000;

const DRAFTS_KEY = "woow_paas_platform.ai_chat.drafts";
const NEW = "new";

function readDrafts() {
    try {
        return JSON.parse(browser.sessionStorage.getItem(DRAFTS_KEY)) || {};
    } catch {
        return {};
    }
}

/** All that the chat knows on this page; components only read it and call its methods. */
export class AiChatStore extends Reactive {
    /** @param {AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        this.list = {
            conversations: [],
            hasMore: false,
            isLoaded: false,
            isLoading: false,
            error: null,
        };
        this.choices = {
            assistants: [],
            cloudServices: [],
            isLoaded: false,
            isLoading: false,
            error: null,
        };
        this.selection = { assistantId: null, cloudServiceId: null, record: null };
        this.starting = { isBusy: false, error: null };
        /** Of the person, on every device. */
        this.preferences = { showCalls: true };
        this.threads = {};
        this.currentId = null;
        this.isShown = false;
        this.listTimer = null;
        this.drafts = readDrafts();
    }

    /** @returns {ChatThread|null} null: a new chat is being prepared */
    get thread() {
        return this.threads[this.currentId] || null;
    }

    // Conversations ----------------------------------------------------------

    async loadConversations() {
        return this.readList({ limit: LIST_SIZE }, (data) => {
            const fresh = new Set(data.conversations.map(({ id }) => id));
            const rest = this.list.conversations.filter(({ id }) => !fresh.has(id));
            const isFirst = !this.list.isLoaded;
            this.list.conversations = data.has_more
                ? [...data.conversations, ...rest]
                : data.conversations;
            this.list.hasMore = isFirst || !data.has_more ? data.has_more : this.list.hasMore;
            for (const { id, name } of data.conversations) {
                if (this.threads[id]) {
                    // the server calls a conversation after what was first asked
                    this.threads[id].name = name;
                }
            }
        });
    }

    async loadMoreConversations() {
        const last = this.list.conversations.at(-1);
        return this.readList({ limit: LIST_SIZE, before: last?.id }, (data) => {
            const known = new Set(this.list.conversations.map(({ id }) => id));
            this.list.conversations.push(...data.conversations.filter(({ id }) => !known.has(id)));
            this.list.hasMore = data.has_more;
        });
    }

    async readList(params, apply) {
        this.list.isLoading = true;
        try {
            apply(await this.api.conversations(params));
            this.list.isLoaded = true;
            this.list.error = null;
        } catch (error) {
            this.list.error = error;
        } finally {
            this.list.isLoading = false;
            this.watchOthers();
        }
    }

    /** An answer that is not shown has no stream here: the list tells when it is there. */
    watchOthers() {
        browser.clearTimeout(this.listTimer);
        const isElsewhere = ({ id, turn }) =>
            id !== this.currentId && ["queued", "running"].includes(turn?.state);
        if (this.isShown && this.list.conversations.some(isElsewhere)) {
            this.listTimer = browser.setTimeout(() => {
                if (document.visibilityState === "visible") {
                    this.loadConversations();
                }
            }, LIST_REFRESH);
        }
    }

    /** The chat came into view. */
    enter() {
        this.isShown = true;
        return this.loadConversations();
    }

    /** The chat goes out of view: nothing stays open, nothing is asked again. */
    exit() {
        this.isShown = false;
        browser.clearTimeout(this.listTimer);
        this.leave();
    }

    /** Shows a conversation; what is known of it at once, the truth as soon as it is there. */
    async open(id) {
        this.leave();
        this.currentId = id;
        if (!this.threads[id]) {
            const known = this.list.conversations.find((conversation) => conversation.id === id);
            this.addThread(known || { id });
        }
        await this.threads[id].show();
    }

    addThread(conversation) {
        const thread = new ChatThread(toRaw(this.api), conversation, {
            onActivity: () => this.loadConversations(),
        });
        this.threads[conversation.id] = thread;
        return this.threads[conversation.id];
    }

    /** The thread that is no longer shown lets go of its stream. */
    leave() {
        this.thread?.hide();
    }

    async rename(id, name) {
        await this.api.renameConversation(id, name);
        if (this.threads[id]) {
            this.threads[id].name = name;
        }
        const listed = this.list.conversations.find((conversation) => conversation.id === id);
        if (listed) {
            listed.name = name;
        }
    }

    async remove(id) {
        await this.api.deleteConversation(id);
        this.list.conversations = this.list.conversations.filter(
            (conversation) => conversation.id !== id
        );
        this.setDraft(id, "");
        if (this.currentId === id) {
            await this.prepare();
        }
        delete this.threads[id];
    }

    /** What happened elsewhere: another tab, another device, Discuss. */
    async refresh() {
        await Promise.all([this.loadConversations(), this.thread?.refresh()]);
    }

    // Preferences ------------------------------------------------------------

    async loadPreferences() {
        try {
            this.applyPreferences(await this.api.preferences());
        } catch {
            // the chat works as well with what it has
        }
    }

    async showCalls(isShown) {
        this.applyPreferences(await this.api.setPreferences({ show_tool_calls: isShown }));
    }

    applyPreferences(data) {
        this.preferences.showCalls = data?.show_tool_calls ?? true;
    }

    // New chat ---------------------------------------------------------------

    /** Shows the empty chat; nothing is created before the first message. */
    async prepare({ assistantId, cloudServiceId, record } = {}) {
        this.leave();
        this.currentId = null;
        this.starting.error = null;
        this.selection.cloudServiceId = cloudServiceId || null;
        /** {model, id, name} of what the chat is about. */
        this.selection.record = record || null;
        if (assistantId) {
            this.selection.assistantId = assistantId;
        }
        await this.loadChoices();
    }

    async loadChoices() {
        if (this.choices.isLoading) {
            return;
        }
        this.choices.isLoading = true;
        try {
            const [assistants, cloudServices] = await Promise.all([
                this.api.assistants(),
                this.api.cloudServices(),
            ]);
            Object.assign(this.choices, {
                assistants,
                cloudServices,
                isLoaded: true,
                error: null,
            });
            this.checkSelection();
        } catch (error) {
            this.choices.error = error;
        } finally {
            this.choices.isLoading = false;
        }
    }

    /** A choice that does not exist (any more) falls back to the first, or to none. */
    checkSelection() {
        const { assistants, cloudServices } = this.choices;
        const { assistantId, cloudServiceId } = this.selection;
        if (!assistants.some(({ id }) => id === assistantId)) {
            this.selection.assistantId = assistants[0]?.id ?? null;
        }
        if (!cloudServices.some(({ id }) => id === cloudServiceId)) {
            this.selection.cloudServiceId = null;
        }
    }

    get selectedAssistant() {
        const { assistantId } = this.selection;
        return this.choices.assistants.find(({ id }) => id === assistantId) || null;
    }

    // Sending ----------------------------------------------------------------

    async send(text) {
        const content = text.trim();
        if (!content) {
            return;
        }
        const thread = this.thread || (await this.startConversation());
        if (thread) {
            this.setDraft(this.currentId ?? NEW, "");
            await thread.send(content);
        }
    }

    async startConversation() {
        if (this.starting.isBusy || !this.selection.assistantId) {
            return null;
        }
        Object.assign(this.starting, { isBusy: true, error: null });
        try {
            const conversation = await this.api.createConversation(this.selection);
            this.list.conversations.unshift(conversation);
            const thread = this.addThread(conversation);
            thread.isLoaded = true;
            this.setDraft(NEW, "");
            this.currentId = conversation.id;
            return thread;
        } catch (error) {
            this.starting.error = error;
            return null;
        } finally {
            this.starting.isBusy = false;
        }
    }

    /** Gives the text of a message that could not be sent back to the composer. */
    editFailed(message) {
        const text = this.thread.withdraw(message);
        const draft = this.draft;
        this.setDraft(this.currentId, draft ? `${text}\n${draft}` : text);
    }

    get draft() {
        return this.drafts[this.currentId ?? NEW] || "";
    }

    setDraft(id, text) {
        const key = id ?? NEW;
        if (text) {
            this.drafts[key] = text;
        } else {
            delete this.drafts[key];
        }
        try {
            browser.sessionStorage.setItem(DRAFTS_KEY, JSON.stringify(toRaw(this.drafts)));
        } catch {
            // no room, or no storage in a private window: the draft lives as long as the page
        }
    }
}

export const aiChatService = {
    start() {
        return new AiChatStore(new AiApi());
    },
};

registry.category("services").add("ai_chat", aiChatService);
