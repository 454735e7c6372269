import { Component } from "@odoo/owl";
import { registry } from "@web/core/registry";
import { standardActionServiceProps } from "@web/webclient/actions/action_service";
import { AiChat } from "../ai_chat/ai_chat";
import { chosenTheme } from "./theme";

/** The chat as a page of the backend: the address follows the open conversation. */
export class AiChatAction extends Component {
    static template = "woow_paas_platform.AiChatAction";
    static components = { AiChat };
    static props = { ...standardActionServiceProps };

    setup() {
        const { action, resId } = this.props;
        this.conversationId = resId || action.params?.conversation_id || false;
        this.newChat = {
            assistant_id: action.params?.assistant_id,
            cloud_service_id: action.params?.cloud_service_id,
            record: action.params?.res_id && {
                model: action.params.res_model,
                id: action.params.res_id,
                name: action.params.res_name,
            },
        };
    }

    get theme() {
        return chosenTheme();
    }

    onShow(conversationId) {
        this.props.updateActionState?.({ resId: conversationId || false });
    }
}

registry.category("actions").add("woow_paas_platform.ai_chat", AiChatAction);
