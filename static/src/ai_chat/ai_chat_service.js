import { markRaw, toRaw } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { Reactive } from "@web/core/utils/reactive";
import { AiApi } from "../core/ai_api";
import { CommandCenter } from "../commands/command_center";
import { ChatThread } from "../thread/chat_thread";
import { ARCHIVE, ConversationIndex } from "../conversations/conversation_index";
import { FolderIndex, isSameRecord } from "../folders/folder_index";
import { Drafts } from "../composer/drafts";
import { MentionCenter } from "../mentions/mention_center";
import { NewChatState } from "./new_chat_state";
import { Outbox } from "../composer/outbox";
import { PendingFiles } from "../composer/pending_files";
import { ResourceCenter } from "../commands/resource_center";
import { ServerChoice } from "../conversations/server_choice";

/** Milliseconds after which the list is read again while an answer goes on that is not shown. */
export const LIST_REFRESH = 8000;
/** Characters of a passage that is quoted. */
const MAX_QUOTE = 4000;
/** What a person who is away is told when a turn comes to one of these states. */
const NEWS = {
    waiting: _t("Your decision is needed."),
    done: _t("The answer is ready."),
    failed: _t("The answer could not be completed."),
};
/** Of a page of the portal: `/zh_TW/my/ai`. */
const LANGUAGE_PREFIX = /^\/[a-z]{2,3}(?:_[A-Za-z@]+)?(?=\/my\/)/;

/** All that the chat knows on this page; components only read it and call its methods. */
export class AiChatStore extends Reactive {
    /** @param {AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        this.list = new ConversationIndex(api);
        this.folders = new FolderIndex(api);
        this.newChat = new NewChatState(api);
        this.drafts = new Drafts();
        this.files = new PendingFiles(api);
        this.outbox = new Outbox();
        this.servers = new ServerChoice(api);
        /** Of the person, on every device. */
        this.preferences = { showCalls: true, notify: true, language: "", languages: [] };
        /** Answers and questions that came while nobody looked at this page. */
        this.news = 0;
        this.threads = {};
        this.currentId = null;
        /** With what the new chat was begun, see NewChatState. */
        this.choice = null;
        /** The conversation that the new chat on the screen became, until another one is opened. */
        this.startedId = null;
        /**
         * Views that show the chat, the last one on top: {name, cloudService}. A new one is there before the one in its
         * place goes, and may go before it was ever on the screen.
         */
        this.views = [];
        /** The page is about to be replaced: what is written stays a draft for the next one. */
        this.isLeaving = false;
        /** A message waits for its files. */
        this.isHolding = false;
        this.listTimer = null;
        /** Conversations in which a long text becomes a file. */
        this.attaching = new Set();
        this.commands = new CommandCenter(this);
        this.resources = new ResourceCenter(this);
        this.mentions = new MentionCenter(this);
    }

    /** @returns {ChatThread|null} null: a new chat is being prepared */
    get thread() {
        return this.threads[this.currentId] || null;
    }

    /** Names what is on the screen: a new chat stays that when it becomes a conversation. */
    get place() {
        return this.currentId === this.startedId ? 0 : this.currentId || 0;
    }

    get isShown() {
        return this.views.length > 0;
    }

    /** @returns {import("../core/chat_ref").ChatRef|null} null: there is nobody to chat with yet */
    get chatRef() {
        if (this.currentId) {
            return { conversationId: this.currentId };
        }
        const { assistantId, cloudServiceId } = this.newChat;
        return assistantId ? { assistantId, cloudServiceId } : null;
    }

    /** The same, as soon as the assistants are there. */
    async loadedRef() {
        if (!this.chatRef) {
            await this.newChat.load();
        }
        return this.chatRef;
    }

    // Conversations ----------------------------------------------------------

    async loadConversations() {
        this.folders.load();
        await this.list.load();
        for (const { id, name } of this.list.conversations) {
            if (this.threads[id]) {
                // the server calls a conversation after what was first asked
                this.threads[id].name = name;
            }
        }
        this.watchOthers();
    }

    /** An answer that is not shown has no stream here: the list tells when it is there. */
    watchOthers() {
        browser.clearTimeout(this.listTimer);
        if (this.isShown && this.list.isBusyElsewhere(this.currentId)) {
            this.listTimer = browser.setTimeout(() => {
                if (document.visibilityState === "visible") {
                    this.loadConversations();
                }
            }, LIST_REFRESH);
        }
    }

    /**
     * The chat came into view.
     *
     * @param {string} view
     * @param {{id: number, name: string}} [cloudService] it shows and makes only conversations about this one
     */
    enter(view, cloudService = null) {
        this.views.push({ name: view, cloudService });
        this.showAbout(cloudService);
        this.sendUnsent();
        return this.loadConversations();
    }

    showAbout(cloudService) {
        this.list.cloudServiceId = cloudService?.id;
        this.newChat.fixedService = cloudService;
    }

    /** The page before this one was left while it sent. */
    async sendUnsent() {
        for (const id of this.outbox.conversationIds) {
            const thread = this.threads[id] || this.addThread({ id });
            thread.isShown = id === this.currentId;
            await thread.refresh();
            await thread.sendUnsent();
        }
    }

    /** The chat goes out of view: nothing stays open, nothing is asked again. */
    exit(view) {
        const isOnTop = this.views.at(-1)?.name === view;
        this.views = this.views.filter(({ name }) => name !== view);
        if (this.isShown) {
            if (isOnTop) {
                this.showAbout(this.views.at(-1).cloudService);
                this.loadConversations();
            }
            return; // another one shows it still
        }
        browser.clearTimeout(this.listTimer);
        this.leave();
    }

    /** Shows a conversation; what is known of it at once, the truth as soon as it is there. */
    async open(id) {
        if (id !== this.currentId) {
            this.endTemporary();
        }
        this.leave();
        this.currentId = id;
        this.startedId = null;
        if (!this.threads[id]) {
            this.addThread(this.list.find(id) || { id });
        }
        this.list.see(id);
        await this.threads[id].show();
    }

    /** Somebody who is away is told: in the title of the page, and by the browser where that is allowed. */
    tellNews(id, state) {
        if (document.visibilityState === "visible" || !(state in NEWS)) {
            return;
        }
        this.news++;
        if (this.preferences.notify && window.Notification?.permission === "granted") {
            const { title } = this.threads[id];
            const body = NEWS[state].toString();
            const notification = new window.Notification(title, { body, tag: `woow_ai_${id}` });
            notification.onclick = () => window.focus();
        }
    }

    addThread(conversation) {
        const thread = new ChatThread(toRaw(this.api), conversation, this.outbox, {
            onActivity: () => this.loadConversations(),
            onNews: (state) => this.tellNews(conversation.id, state),
        });
        this.threads[conversation.id] = thread;
        return this.threads[conversation.id];
    }

    /** The thread that is no longer shown lets go of its stream. */
    leave() {
        this.commands.dismiss();
        this.resources.dismiss();
        this.mentions.search("");
        this.thread?.hide();
    }

    /** The temporary chat on the screen gives way to something else; if this fails, the server deletes it a day later. */
    endTemporary() {
        const { currentId: id, thread } = this;
        if (thread?.isTemporary) {
            thread.hide();
            this.forgetUnsent(id);
            delete this.threads[id];
            this.api.actOnConversations("end", [id]).catch(() => {});
        }
    }

    /** Makes an ordinary conversation of the temporary one on the screen. */
    async keepTemporary() {
        const { thread } = this;
        thread.isTemporary = false; // at once: another chat may be opened before the answer
        const failed = await this.act("keep", [thread.id]).then(
            ([refused]) => refused && new Error(refused.error.message),
            (error) => error
        );
        if (failed) {
            thread.isTemporary = true;
            throw failed;
        }
    }

    async rename(id, wanted) {
        const { name } = await this.api.renameConversation(id, wanted);
        if (this.threads[id]) {
            this.threads[id].name = name;
        }
        this.list.rename(id, name);
    }

    /**
     * Pins, archives, restores, moves or deletes conversations.
     *
     * @param {number|null} [folderId] where they are moved
     * @returns {Promise<{id: number, error: {message: string}}[]>} those it was not done to
     */
    async act(action, ids, folderId) {
        const results = await this.api.actOnConversations(action, ids, folderId);
        const done = results.filter(({ ok }) => ok).map(({ id }) => id);
        if (action === "pin" || action === "unpin") {
            this.list.pin(done, action === "pin");
        } else if (action === "move") {
            this.list.move(done, folderId);
            done.filter((id) => this.threads[id]).forEach((id) => {
                this.threads[id].folderId = folderId;
            });
        } else {
            this.list.remove(done);
        }
        if (action === "delete") {
            await this.forget(done);
        }
        this.loadConversations();
        return results.filter(({ ok }) => !ok);
    }

    // Folders ----------------------------------------------------------------

    /** The folder that holds for the chat on the screen. */
    get folder() {
        const { thread, list } = this;
        return this.folders.find(thread ? thread.folderId : list.folderId) || null;
    }

    /** What the chat on the screen is about. */
    get record() {
        return this.thread ? this.thread.record : this.newChat.record;
    }

    /** Shows a place of the list; a new chat begins in it. */
    async showPlace(place) {
        const shown = this.list.show(place);
        this.folders.load();
        await this.prepareInFolder();
        return shown;
    }

    async changeFolder(id, values) {
        await this.folders.change(id, values);
        await this.prepareInFolder();
    }

    async addFolderAbout(record) {
        const folder = await this.folders.add(record.name, { record });
        await this.showPlace(folder.id);
    }

    /** A new chat is about the record of its folder, where that has one. */
    async prepareInFolder() {
        const { choice, folder, newChat } = this;
        const record = folder?.record || choice?.record;
        if (!this.thread && !isSameRecord(newChat.record, record)) {
            await newChat.changeRecord(record);
        }
    }

    /** The chat is opened about a record: a folder about another one is left. */
    leaveOtherFolder(record) {
        const { folders, list } = this;
        const own = folders.find(list.folderId)?.record;
        if (record && own && !isSameRecord(own, record)) {
            list.show(null);
        }
    }

    /** Its conversations stay. */
    async removeFolder(id) {
        await this.folders.remove(id);
        await this.showPlace(null);
    }

    async forget(ids) {
        ids.forEach((id) => this.forgetUnsent(id));
        if (ids.includes(this.currentId)) {
            await this.prepare();
        }
        ids.forEach((id) => delete this.threads[id]);
    }

    forgetUnsent(id) {
        this.drafts.set(id, "");
        this.mentions.take(id);
    }

    /** What happened elsewhere: another tab, another device, Discuss. */
    async refresh() {
        this.news = 0;
        await Promise.all([
            this.loadConversations(),
            this.folders.load(),
            this.thread?.refresh(),
            this.servers.load(),
            this.commands.refresh(),
        ]);
        const { folderId } = this.list;
        if (folderId && !this.folders.find(folderId)) {
            await this.showPlace(null);
        }
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

    /** Reloads the page in the language; its address may begin with the one before. */
    async speak(language) {
        this.isLeaving = true;
        try {
            await this.api.setPreferences({ language });
        } catch (error) {
            this.isLeaving = false;
            throw error;
        }
        const { pathname, search } = browser.location;
        browser.location.assign(pathname.replace(LANGUAGE_PREFIX, "") + search);
    }

    /** Switching it on asks the browser, too; mails come without it. */
    async notify(isOn) {
        if (isOn && window.Notification?.permission === "default") {
            await window.Notification.requestPermission();
        }
        this.applyPreferences(await this.api.setPreferences({ notify: isOn }));
    }

    applyPreferences(data) {
        Object.assign(this.preferences, {
            showCalls: data?.show_tool_calls ?? true,
            notify: data?.notify ?? true,
            language: data?.language || "",
            languages: data?.languages || [],
        });
    }

    /** Nobody has chatted here yet: what is chosen once for all chats is asked now. */
    get isFirst() {
        const { isLoaded, conversations, isWhole } = this.list;
        return isLoaded && !conversations.length && isWhole && !this.folders.folders.length;
    }

    // Sending ----------------------------------------------------------------

    /** Shows the empty chat. */
    async prepare(choice) {
        this.endTemporary();
        this.leave();
        this.currentId = null;
        this.choice = choice;
        await this.newChat.prepare({ ...choice, record: this.folder?.record || choice?.record });
    }

    async send(text, { steers } = {}) {
        const content = text.trim();
        if (
            this.isLeaving ||
            this.isHolding ||
            (!content && !this.files.of(this.currentId).length)
        ) {
            return;
        }
        this.commands.dismiss();
        if (!(await this.filesArrived())) {
            return;
        }
        const thread = this.thread || (await this.startConversation());
        if (thread) {
            const pending = this.files.take(thread.id);
            const records = this.mentions.take(thread.id);
            this.removeSent(text, thread.id);
            await thread.send(content, { pending, records, steers });
        }
    }

    /** A text that is too long for a message becomes a file; there is room for a question about it then. */
    async attachText(text) {
        const { currentId } = this;
        if (this.attaching.has(currentId)) {
            return; // it is on its way
        }
        this.attaching.add(currentId);
        if (await this.files.addText(currentId, text)) {
            this.removeSent(text, currentId);
        }
        this.attaching.delete(currentId);
    }

    /** What was typed behind it meanwhile stays. */
    removeSent(text, id = this.currentId) {
        const draft = this.drafts.get(id);
        if (draft.startsWith(text)) {
            this.setDraft(draft.slice(text.length), id);
        }
    }

    /** @returns {Promise<boolean>} whether what was to be sent is still the same, with all its files */
    async filesArrived() {
        const { currentId, draft } = this;
        this.isHolding = true;
        await this.files.settle(currentId);
        this.isHolding = false;
        return (
            this.files.isReady(currentId) && this.currentId === currentId && this.draft === draft
        );
    }

    /** @returns {Promise<ChatThread|null>} of the new chat, which takes along what was written and attached */
    async startConversation() {
        const { folderId } = this.list;
        const conversation = await this.newChat.start(this.servers.chosenNames, folderId);
        if (!conversation) {
            return null;
        }
        if (this.list.place === ARCHIVE) {
            this.list.show(null);
        } else if (!conversation.temporary) {
            this.list.add(conversation);
        }
        const thread = this.addThread(conversation);
        thread.isLoaded = true;
        this.drafts.adopt(conversation.id);
        this.files.restore(conversation.id, this.files.take(null));
        this.mentions.restore(conversation.id, this.mentions.take(null));
        if (this.currentId) {
            thread.hide(); // another one was opened meanwhile
        } else {
            this.currentId = this.startedId = conversation.id;
        }
        return thread;
    }

    /** Gives the text of a message that could not be sent back to the composer. */
    editFailed(message) {
        const text = this.thread.withdraw(message);
        this.files.restore(this.currentId, message.pending);
        this.mentions.restore(this.currentId, message.records);
        const draft = this.draft;
        this.setDraft(draft ? `${text}\n${draft}` : text);
    }

    /** Puts a passage behind what is written, as mails do. */
    quote(text) {
        const lines = text.slice(0, MAX_QUOTE).split("\n");
        const quoted = lines.map((line) => `> ${line}`.trimEnd()).join("\n");
        const before = this.draft.trimEnd();
        this.setDraft(`${before ? `${before}\n\n` : ""}${quoted}\n\n`);
    }

    /**
     * Puts a default prompt behind what is written.
     *
     * @returns {Promise<boolean>} whether it is there
     */
    async usePrompt(promptId) {
        const content = await this.newChat.fill(promptId);
        if (!content || this.thread) {
            return false;
        }
        this.addToDraft(content);
        return true;
    }

    /** Puts a text behind what is written. */
    addToDraft(text) {
        this.setDraft(this.draft ? `${this.draft}\n${text}` : text);
    }

    /** Of what is shown. */
    get draft() {
        return this.drafts.get(this.currentId);
    }

    setDraft(text, id = this.currentId) {
        this.drafts.set(id, text);
        this.mentions.keepNamed(id, text);
    }
}

export const aiChatService = {
    start() {
        return new AiChatStore(new AiApi());
    },
};

registry.category("services").add("ai_chat", aiChatService);
