import { Component, useExternalListener } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { effect } from "@web/core/utils/reactive";
import { AiChat } from "../ai_chat/ai_chat";

/** `/my/ai` or `/my/services/<id>/chat`, maybe with a conversation's id, maybe below a language's prefix. */
const PAGE_PATH = /^(.*\/my\/(?:ai|services\/\d+\/chat))(?:\/(\d+))?\/?$/;

/**
 * The chat as a page of the portal, of its own or of a cloud service: address, history and title follow the open
 * conversation.
 */
export class PortalAiChat extends Component {
    static template = "woow_paas_platform.PortalAiChat";
    static components = { AiChat };
    static props = {
        conversationId: AiChat.props.conversationId,
        newChat: AiChat.props.newChat,
        cloudService: AiChat.props.cloudService,
    };

    setup() {
        this.chat = useService("ai_chat");
        this.title = document.title;
        this.isShown = false;
        useExternalListener(window, "popstate", () => this.onPopState());
        effect(
            (chat) => {
                const name = chat.thread?.name;
                const news = chat.news ? `(${chat.news}) ` : "";
                document.title = news + (name ? `${name} · ${this.title}` : this.title);
            },
            [this.chat]
        );
    }

    /** What was opened before is a step back; a new chat becomes the conversation that it has begun. */
    onShow(conversationId) {
        const isStep = this.isShown && !(conversationId && conversationId === this.chat.startedId);
        const method = isStep ? "pushState" : "replaceState";
        this.isShown = true;
        const base = browser.location.pathname.match(PAGE_PATH)?.[1];
        const path = conversationId ? `${base}/${conversationId}` : base;
        if (base && path !== browser.location.pathname) {
            browser.history[method](browser.history.state, "", path);
        }
    }

    onPopState() {
        const match = browser.location.pathname.match(PAGE_PATH);
        const id = Number(match?.[2]) || null;
        if (match && id !== this.chat.currentId) {
            if (id) {
                this.chat.open(id);
            } else {
                this.chat.prepare();
            }
        }
    }
}

registry.category("public_components").add("woow_paas_platform.AiChat", PortalAiChat);
