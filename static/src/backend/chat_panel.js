import { Component, reactive, useExternalListener, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { effect } from "@web/core/utils/reactive";
import { ChatFrame } from "./frame/chat_frame";
import { pageTheme } from "./theme";
import { pressedKey } from "../core/keys";

const ACTION = "woow_paas_platform.ai_chat";
const DECISIONS = "woow_paas_platform.decisions";
const ENDED = "woow_ai/turn_ended";
const SEEN = "woow_ai/seen";
const TYPES = { waiting: "warning", failed: "danger" }; // of a notification

/** The record that the form on the screen shows, as far as the person may read it. */
async function currentRecord({ action, orm }) {
    const controller = action.currentController;
    const model = controller?.props?.resModel;
    const id = controller?.props?.type === "form" && controller.currentState?.resId;
    if (!model || !Number.isInteger(id)) {
        return null;
    }
    try {
        const [record] = await orm.silent.read(model, [id], ["display_name"]);
        return record ? { model, id, name: record.display_name } : null;
    } catch {
        return null;
    }
}

function endedSentence({ state, name, assistant }) {
    const values = { assistant, name };
    if (state === "waiting") {
        return _t("%(assistant)s is waiting for your decision in “%(name)s”.", values);
    }
    if (state === "failed") {
        return _t("%(assistant)s could not answer in “%(name)s”.", values);
    }
    return _t("%(assistant)s replied in “%(name)s”.", values);
}

/** The chat over any screen of the backend, and the answers that nobody has seen yet. */
export const chatPanelService = {
    dependencies: ["action", "bus_service", "notification", "orm", "title"],
    start(env, { action, bus_service: bus, notification, orm, title }) {
        const openedAt = Date.now();
        const panel = reactive({
            isOpen: false,
            conversationId: false,
            newChat: null,
            /** Conversations with an answer, or a question, that was not looked at. */
            unseen: new Set(),

            /** Opens a conversation, or a new one about what is on the screen. */
            async open(conversationId = false) {
                const { ai_chat: chat } = env.services;
                if (conversationId && chat?.isShown) {
                    panel.unseen.delete(conversationId);
                    return chat.open(conversationId);
                }
                panel.newChat = conversationId ? null : await panel.choice();
                panel.conversationId = conversationId;
                panel.unseen.delete(conversationId);
                panel.isOpen = true;
            },
            close() {
                panel.isOpen = false;
            },
            async choice() {
                return { record: await currentRecord({ action, orm }) };
            },
            seen(conversationId) {
                panel.unseen.delete(conversationId);
            },
        });

        function isWatched(id) {
            // these come with the chat's bundle: without it nothing is shown
            const { ai_chat: chat, ai_discuss_turns: turns } = env.services;
            const isShown = (chat?.isShown && chat.currentId === id) || turns?.isShown(id);
            return isShown && document.visibilityState === "visible";
        }

        /** The list on the screen shows what waits. */
        function isListed() {
            return action.currentController?.action.tag === DECISIONS;
        }

        bus.subscribe(ENDED, (data) => {
            // the bus repeats what came shortly before the page was opened
            if (Date.parse(data.at) < openedAt || isWatched(data.conversation_id)) {
                return;
            }
            panel.unseen.add(data.conversation_id);
            if (data.state === "waiting" && isListed()) {
                return;
            }
            const close = notification.add(endedSentence(data), {
                type: TYPES[data.state] || "success",
                buttons: [
                    {
                        name: _t("Open"),
                        onClick: () => {
                            close();
                            panel.open(data.conversation_id);
                        },
                    },
                ],
            });
        });
        bus.subscribe(SEEN, ({ conversation_id: id }) => {
            panel.seen(id);
            // Discuss has counted the message by itself
            const store = env.services["mail.store"];
            const thread = store?.Thread.get({ model: "discuss.channel", id });
            const member = thread?.self_member_id;
            if (member?.message_unread_counter) {
                thread.markAsRead();
                member.message_unread_counter = 0; // also where the server knows it already
            }
        });
        effect(({ unseen }) => title.setCounters({ woow_ai: unseen.size }), [panel]);
        return panel;
    },
};

registry.category("services").add("ai_chat_panel", chatPanelService);

/** The panel itself, at the side of the screen. */
export class ChatPanel extends Component {
    static template = "woow_paas_platform.ChatPanel";
    static components = { ChatFrame };
    static props = {};

    setup() {
        this.panel = useState(useService("ai_chat_panel"));
        this.recordChats = useService("ai_record_chats");
        this.action = useService("action");
        this.root = useRef("root");
        this.getNewChat = () => this.panel.choice();
        this.onShow = this.onShow.bind(this);
        this.expand = this.expand.bind(this);
        this.close = this.close.bind(this);
        useExternalListener(window, "keydown", (ev) => this.onKeydown(ev));
    }

    /** The page of the chat shows the same conversation: one of them is enough. */
    get isShown() {
        return this.panel.isOpen && this.action.currentController?.action.tag !== ACTION;
    }

    get theme() {
        return pageTheme();
    }

    get chatProps() {
        return {
            conversationId: this.panel.conversationId,
            newChat: this.panel.newChat || undefined,
            getNewChat: this.getNewChat,
            onShow: this.onShow,
            onExpand: this.expand,
            onClose: this.close,
        };
    }

    /** The focus goes back to the button that opened it. */
    close() {
        this.panel.close();
        document.querySelector(".o_ai_chat_systray button")?.focus();
    }

    onKeydown(ev) {
        const isEscape = pressedKey(ev) === "Escape" && !ev.shiftKey && !ev.defaultPrevented;
        if (isEscape && this.root.el?.contains(ev.target)) {
            this.close();
        }
    }

    onShow(conversationId) {
        this.panel.conversationId = conversationId || false;
        this.panel.seen(conversationId);
        this.recordChats.refresh();
    }

    expand() {
        const conversation_id = this.panel.conversationId;
        this.panel.close();
        this.action.doAction({
            type: "ir.actions.client",
            tag: ACTION,
            name: _t("AI assistants"),
            params: { conversation_id },
        });
    }
}

registry.category("main_components").add("woow_paas_platform.ChatPanel", { Component: ChatPanel });

/** The button in the bar at the top. */
export class ChatSystray extends Component {
    static template = "woow_paas_platform.ChatSystray";
    static props = {};

    setup() {
        this.panel = useState(useService("ai_chat_panel"));
    }

    get label() {
        const count = this.panel.unseen.size;
        return count ? _t("AI assistants: %(count)s new", { count }) : _t("AI assistants");
    }

    toggle() {
        if (this.panel.isOpen) {
            this.panel.close();
        } else {
            const [unseen] = this.panel.unseen;
            this.panel.open(unseen);
        }
    }
}

registry
    .category("systray")
    .add("woow_paas_platform.ChatSystray", { Component: ChatSystray }, { sequence: 24 });
