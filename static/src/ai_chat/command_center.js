import { _t } from "@web/core/l10n/translation";
import { Reactive } from "@web/core/utils/reactive";
import { commandOf, matchingCommands, promptCommand } from "../core/slash_commands";

const COMMANDS = [
    { name: "/help", about: _t("What can be typed here") },
    { name: "/clear", about: _t("Begin a new conversation with the same assistant") },
    { name: "/mcp", about: _t("The MCP servers of this conversation") },
    { name: "/mcp tools", about: _t("The tools of these servers") },
    { name: "/mcp reload", about: _t("Read the tools of these servers anew") },
];

/** Slash commands of the chat: what there is, and what they do. Nothing of them is sent to the model. */
export class CommandCenter extends Reactive {
    /** @param {import("./ai_chat_service").AiChatStore} chat */
    constructor(chat) {
        super();
        this.chat = chat;
        /** Prompts of the servers, by conversation. */
        this.prompts = {};
        /** Conversations whose prompts are known or under way. */
        this.asked = new Set();
        /** What the last command shows: {title, rows: [{name, about}]}, or null. */
        this.answer = null;
        /** The prompt whose arguments are being written, or null. */
        this.prompt = null;
        this.isBusy = false;
        this.error = null;
    }

    get commands() {
        return [...COMMANDS, ...(this.prompts[this.chat.currentId] || []).map(promptCommand)];
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

    /** Asks the servers for their prompts once for each conversation, and again after a failure. */
    async loadPrompts() {
        const id = this.chat.currentId;
        if (id && !this.asked.has(id)) {
            await this.readPrompts(id);
        }
    }

    /** Until the servers have answered, what they said before is offered. */
    async readPrompts(id) {
        this.asked.add(id);
        try {
            this.prompts[id] = (await this.chat.api.prompts(id)).prompts;
        } catch {
            this.asked.delete(id);
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
            this.answer = { title: _t("What can be typed here"), rows: this.commands };
            return;
        }
        const id = this.chat.currentId ?? (await this.chat.startConversation())?.id;
        if (!id) {
            return;
        }
        const servers = (await this.chat.api.mcpConfig(id)).servers.filter((one) => one.enabled);
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
            this.answer = { title: _t("Read anew"), rows: await this.reloadRows(servers) };
            this.readPrompts(id);
        }
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
                    return { name, about: _t("Its tools were read.") };
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
            const { messages } = await this.chat.api.getPrompt(this.chat.currentId, prompt, args);
            this.prompt = null;
            this.error = null;
            this.chat.setDraft(messages.map(({ text }) => text).join("\n\n"));
        });
    }

    async complete({ server, name }, argument, value, args) {
        const { currentId, api } = this.chat;
        const ref = { server, prompt: name };
        try {
            return await api.complete(currentId, ref, { argument, value, args });
        } catch {
            return [];
        }
    }
}

function serverRow({ name, description, tool_count: count, state }) {
    const tools = count === 1 ? _t("1 tool") : _t("%(count)s tools", { count });
    const trouble = state === "error" ? _t("cannot be reached") : "";
    return { name, about: [tools, trouble, description].filter(Boolean).join(" · ") };
}
