import { Component } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { registry } from "@web/core/registry";
import { AiChat } from "../ai_chat/ai_chat";

/** `/my/ai` or `/my/services/<id>/chat`, maybe with a conversation's id, maybe below a language's prefix. */
const PAGE_PATH = /^(.*\/my\/(?:ai|services\/\d+\/chat))(?:\/\d+)?\/?$/;

/** The chat as a page of the portal, of its own or of a cloud service: the address follows the open conversation. */
export class PortalAiChat extends Component {
    static template = "woow_paas_platform.PortalAiChat";
    static components = { AiChat };
    static props = {
        conversationId: AiChat.props.conversationId,
        newChat: AiChat.props.newChat,
        cloudService: AiChat.props.cloudService,
    };

    onShow(conversationId) {
        const base = browser.location.pathname.match(PAGE_PATH)?.[1];
        if (!base) {
            return;
        }
        const path = conversationId ? `${base}/${conversationId}` : base;
        if (path !== browser.location.pathname) {
            browser.history.replaceState(browser.history.state, "", path);
        }
    }
}

registry.category("public_components").add("woow_paas_platform.AiChat", PortalAiChat);
