import { _t } from "@web/core/l10n/translation";
import { Reactive } from "@web/core/utils/reactive";
import { chatKey } from "../core/chat_ref";
import { shortcutRows } from "./shortcuts";
import {
    commandName,
    commandOf,
    matchingCommands,
    promptCommand,
    savedCommands,
} from "./slash_commands";

const COMMANDS = [
    { name: "/help", about: _t("Show the commands") },
    { name: "/clear", about: _t("Start a new conversation with the same assistant") },
    {
        name: "/compact",
        about: _t("Sum up the conversation so far; words behind it say what to keep"),
        takesWords: true,
    },
    { name: "/mcp", about: _t("The MCP servers of this conversation") },
    { name: "/mcp tools", about: _t("The tools of these servers") },
    { name: "/mcp reload", about: _t("Reload the tools of these servers") },
];

/** Slash commands of the chat: what there is, and what they do. Nothing of them is sent to the model. */
export class CommandCenter extends Reactive {
    /** @param {import("./ai_chat_service").AiChatStore} chat */
    constructor(chat) {
        super();
        this.chat = chat;
        /** Prompts of the servers, by chat. */
        this.prompts = {};
        /** Prompts of the person and of the person's workspaces, for all chats. */
        this.saved = [];
        /** What is under way or known, by chat: promises of its prompts. */
        this.asked = new Map();
        /** What the last command shows: {title, rows: [{name, about}]}, or null. */
        this.answer = null;
        /** The prompt whose arguments are being written, or null. */
        this.prompt = null;
        this.isBusy = false;
        this.error = null;
    }

    /** Names the chat whose servers' prompts are offered; empty: none is ready. */
    get place() {
        return chatKey(this.chat.chatRef);
    }

    get commands() {
        const { canReload } = this.chat.servers;
        const ours = COMMANDS.filter(({ name }) => canReload || name !== "/mcp reload");
        const ofServers = this.prompts[this.place] || [];
        return [...ours, ...savedCommands(this.saved), ...ofServers.map(promptCommand)];
    }

    matching(text) {
        return matchingCommands(this.commands, text);
    }

    /** Also one that is not offered here: its answer says why. */
    find(text) {
        return commandOf([...COMMANDS, ...this.commands], text);
    }

    /** Says so where a text begins like a command and is none: the model would make something up. */
    refuses(text) {
        const name = text.includes("\n") ? "" : commandName(text);
        if (!name) {
            return false;
        }
        this.dismiss();
        this.answer = {
            title: _t("“%(name)s” is not a command here", { name }),
            rows: [
                { name: "/help", about: _t("Show the commands") },
                { name: _t("Send it anyway"), about: _t("Put a space before the slash.") },
            ],
        };
        return true;
    }

    dismiss() {
        Object.assign(this, { answer: null, prompt: null, error: null });
    }

    /** Asks for saved prompts, and the servers for theirs, once for each chat, and again after a failure. */
    async loadPrompts() {
        const { chatRef } = this.chat;
        if (chatRef) {
            await (this.asked.get(chatKey(chatRef)) || this.readPrompts(chatRef));
        }
    }

    /** Whether a text may be a prompt that is not known yet. */
    isUnsure(text) {
        const isKnown = this.place in this.prompts;
        return !isKnown && !text.includes("\n") && Boolean(commandName(text)) && !this.find(text);
    }

    /** Until the servers have answered, what they said before is offered. */
    readPrompts(chatRef) {
        const asked = this.askPrompts(chatRef);
        this.asked.set(chatKey(chatRef), asked);
        return asked;
    }

    async askPrompts(chatRef) {
        const key = chatKey(chatRef);
        const saved = this.readSaved();
        try {
            this.prompts[key] = (await this.chat.api.prompts(chatRef)).prompts;
        } catch {
            this.asked.delete(key);
        }
        if (!(await saved)) {
            this.asked.delete(key);
        }
    }

    /** Another tab may have kept some, or changed them. */
    async refresh() {
        if (this.asked.size) {
            await this.readSaved();
        }
    }

    /** @param {{name: string, content: string}} values of a prompt of the person's own */
    async savePrompt(values) {
        const prompt = await this.chat.api.addPrompt(values);
        await this.readSaved();
        return prompt;
    }

    /** @returns {Promise<boolean>} whether they were read; else those of before are offered still */
    async readSaved() {
        try {
            this.saved = (await this.chat.api.savedPrompts()).prompts;
            return true;
        } catch {
            return false;
        }
    }

    async run(command) {
        this.dismiss();
        this.chat.resources.dismiss();
        if (command.prompt) {
            return command.prompt.arguments.length
                ? this.ask(command.prompt)
                : this.fill(command.prompt, {});
        }
        await this.attempt((isHere) => this.perform(command.name, command.words, isHere));
    }

    /** @param {(isHere: () => boolean) => Promise<void>} action asks whether the same chat is on the screen still */
    async attempt(action) {
        const { currentId } = this.chat;
        const isHere = () => currentId === this.chat.currentId;
        this.isBusy = true;
        try {
            await action(isHere);
        } catch (error) {
            if (isHere()) {
                this.error = error;
            }
        } finally {
            this.isBusy = false;
        }
    }

    async perform(name, words, isHere) {
        if (name === "/compact") {
            return this.compact(words || "");
        }
        if (name === "/clear") {
            const { assistant, cloudService, record } = this.chat.thread || {};
            return this.chat.prepare({
                assistantId: assistant?.id,
                cloudServiceId: cloudService?.id,
                record,
            });
        }
        if (name === "/help") {
            const rows = [...this.commands, ...shortcutRows()];
            this.answer = { title: _t("Commands and shortcuts"), rows };
            return;
        }
        const { api, servers } = this.chat;
        const chatRef = await this.chat.loadedRef();
        if (!chatRef) {
            return; // there is nobody to chat with, which the chat says
        }
        const answer = await api.command(chatRef, name, servers.chosenIds);
        if (!isHere()) {
            return;
        }
        this.answer = answer;
        if (name === "/mcp reload") {
            this.readPrompts(chatRef);
            await servers.load();
        }
    }

    /** Asked for, seen and stopped like a question. */
    async compact(words) {
        const { thread } = this.chat;
        if (thread?.messages.length) {
            await thread.compact(words);
        } else {
            const rows = COMMANDS.filter(({ name }) => name === "/compact");
            this.answer = { title: _t("There is nothing to sum up yet."), rows };
        }
    }

    ask(prompt) {
        this.prompt = prompt;
    }

    /** @returns {Promise<{text: string, sent?: Object}>} `sent`: files of a server, see `PendingFiles.addSent` */
    async contentOf(prompt, args) {
        const { api, chatRef } = this.chat;
        if (prompt.savedId) {
            return { text: await api.fillPrompt(prompt.savedId, args) };
        }
        const { messages, left_out } = await api.getPrompt(chatRef, prompt, args);
        const texts = messages.map((message) => message.text).filter(Boolean);
        const attachments = messages.flatMap((message) => message.attachments);
        return { text: texts.join("\n\n"), sent: { attachments, left_out } };
    }

    /** What the server makes of the prompt becomes the draft and its files: the person reads it and sends it. */
    async fill(prompt, args) {
        await this.attempt(async (isHere) => {
            const { text, sent } = await this.contentOf(prompt, args);
            if (!isHere()) {
                return;
            }
            Object.assign(this, { prompt: null, error: null });
            if (text) {
                this.chat.addToDraft(text);
            }
            if (sent) {
                this.chat.files.addSent(this.chat.currentId, prompt.title || prompt.name, sent);
            }
        });
    }

    async complete({ savedId, server, name }, argument, value, args) {
        if (savedId) {
            return [];
        }
        const { chatRef, api } = this.chat;
        const ref = { server, prompt: name };
        try {
            return await api.complete(chatRef, ref, { argument, value, args });
        } catch {
            return [];
        }
    }
}
