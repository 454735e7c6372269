import { Component } from "@odoo/owl";
import { LazyComponent } from "@web/core/assets";
import { registry } from "@web/core/registry";
import { standardActionServiceProps } from "@web/webclient/actions/action_service";
import { CHAT_BUNDLE } from "./chat_bundle";
import { chosenTheme } from "./theme";

/** The chat as a page of the backend: the address follows the open conversation. */
export class AiChatAction extends Component {
    static template = "woow_paas_platform.AiChatAction";
    static components = { LazyComponent };
    static props = { ...standardActionServiceProps };

    setup() {
        const { action, resId } = this.props;
        this.chatBundle = CHAT_BUNDLE;
        this.chatProps = {
            conversationId: resId || action.params?.conversation_id || false,
            newChat: {
                assistant_id: action.params?.assistant_id,
                cloud_service_id: action.params?.cloud_service_id,
                record: action.params?.res_id && {
                    model: action.params.res_model,
                    id: action.params.res_id,
                    name: action.params.res_name,
                },
            },
            onShow: (conversationId) => this.onShow(conversationId),
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
