import { _t } from "@web/core/l10n/translation";
import { Reactive } from "@web/core/utils/reactive";
import { formatTools } from "../core/format";
import { chatKey } from "../core/chat_ref";
import { commandOf, matchingCommands, promptCommand } from "./slash_commands";

const COMMANDS = [
    { name: "/help", about: _t("Show the commands") },
    { name: "/clear", about: _t("Start a new conversation with the same assistant") },
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
        /** Chats whose prompts are known or under way. */
        this.asked = new Set();
        /** What the last command shows: {title, rows: [{name, about}]}, or null. */
        this.answer = null;
        /** The prompt whose arguments are being written, or null. */
        this.prompt = null;
        this.isBusy = false;
        this.error = null;
    }

    get commands() {
        return [
            ...COMMANDS,
            ...(this.prompts[chatKey(this.chat.chatRef)] || []).map(promptCommand),
        ];
    }

    matching(text) {
        return matchingCommands(this.commands, text);
    }

    find(text) {
        return commandOf(this.commands, text);
    }

    dismiss() {
        Object.assign(this, { answer: null, prompt: null, error: null });
    }

    /** Asks the servers for their prompts once for each chat, and again after a failure. */
    async loadPrompts() {
        const { chatRef } = this.chat;
        if (chatRef && !this.asked.has(chatKey(chatRef))) {
            await this.readPrompts(chatRef);
        }
    }

    /** Until the servers have answered, what they said before is offered. */
    async readPrompts(chatRef) {
        const key = chatKey(chatRef);
        this.asked.add(key);
        try {
            this.prompts[key] = (await this.chat.api.prompts(chatRef)).prompts;
        } catch {
            this.asked.delete(key);
        }
    }

    async run(command) {
        this.dismiss();
        if (command.prompt) {
            return command.prompt.arguments.length
                ? this.ask(command.prompt)
                : this.fill(command.prompt, {});
        }
        await this.attempt(() => this.perform(command.name));
    }

    async attempt(action) {
        this.isBusy = true;
        try {
            await action();
        } catch (error) {
            this.error = error;
        } finally {
            this.isBusy = false;
        }
    }

    async perform(name) {
        if (name === "/clear") {
            const { assistant, cloudService, record } = this.chat.thread || {};
            return this.chat.prepare({
                assistantId: assistant?.id,
                cloudServiceId: cloudService?.id,
                record,
            });
        }
        if (name === "/help") {
            this.answer = { title: _t("Commands"), rows: this.commands };
            return;
        }
        const servers = await this.enabledServers();
        if (name === "/mcp") {
            this.answer = {
                title: _t("MCP servers of this conversation"),
                rows: servers.map(serverRow),
            };
        } else if (name === "/mcp tools") {
            this.answer = {
                title: _t("Tools of this conversation"),
                rows: await this.toolRows(servers),
            };
        } else {
            this.answer = { title: _t("Reloaded"), rows: await this.reloadRows(servers) };
            this.readPrompts(this.chat.chatRef);
            await this.chat.servers.load();
        }
    }

    /** As they are now, not as the page remembers them. */
    async enabledServers() {
        const { servers } = this.chat;
        await servers.load();
        if (servers.error) {
            throw servers.error;
        }
        return servers.enabled;
    }

    async toolRows(servers) {
        const lists = await Promise.all(servers.map(({ id }) => this.chat.api.serverTools(id)));
        return lists.flatMap((tools, index) =>
            tools
                .filter((tool) => tool.active)
                .map(({ name, description }) => ({
                    name: `${servers[index].name}.${name}`,
                    about: description || "",
                }))
        );
    }

    /** Each server says for itself whether this person may do that. */
    async reloadRows(servers) {
        return Promise.all(
            servers.map(async ({ id, name }) => {
                try {
                    await this.chat.api.syncServer(id);
                    return { name, about: _t("Tools reloaded.") };
                } catch (error) {
                    return { name, about: error.message };
                }
            })
        );
    }

    ask(prompt) {
        this.prompt = prompt;
    }

    /** What the server makes of the prompt becomes the draft: the person reads it and sends it. */
    async fill(prompt, args) {
        await this.attempt(async () => {
            const { messages } = await this.chat.api.getPrompt(this.chat.chatRef, prompt, args);
            this.prompt = null;
            this.error = null;
            this.chat.setDraft(messages.map(({ text }) => text).join("\n\n"));
        });
    }

    async complete({ server, name }, argument, value, args) {
        const { chatRef, api } = this.chat;
        const ref = { server, prompt: name };
        try {
            return await api.complete(chatRef, ref, { argument, value, args });
        } catch {
            return [];
        }
    }
}

function serverRow({ name, description, tool_count: count, state }) {
    const trouble = state === "error" ? _t("unreachable") : "";
    return { name, about: [formatTools(count), trouble, description].filter(Boolean).join(" · ") };
}
