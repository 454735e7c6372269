import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { standardActionServiceProps } from "@web/webclient/actions/action_service";
import { ChatFrame } from "./frame/chat_frame";
import { pageTheme } from "./theme";

/** The chat as a page of the backend: the address follows the open conversation. */
export class AiChatAction extends Component {
    static template = "woow_paas_platform.AiChatAction";
    static components = { ChatFrame };
    static props = { ...standardActionServiceProps };

    setup() {
        const { action, resId } = this.props;
        this.recordChats = useService("ai_record_chats");
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
            onTitle: (name) => this.env.config.setDisplayName(name || _t("AI assistants")),
        };
    }

    get theme() {
        return pageTheme();
    }

    onShow(conversationId) {
        this.props.updateActionState?.({ resId: conversationId || false });
        this.recordChats.refresh();
    }
}

registry.category("actions").add("woow_paas_platform.ai_chat", AiChatAction);
