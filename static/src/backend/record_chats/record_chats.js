import { Component, reactive, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { Dropdown } from "@web/core/dropdown/dropdown";
import { DropdownItem } from "@web/core/dropdown/dropdown_item";
import { registry } from "@web/core/registry";
import { useService } from "@web/core/utils/hooks";
import { patch } from "@web/core/utils/patch";
import { FormController } from "@web/views/form/form_controller";

const CONVERSATIONS = "/api/ai/conversations";
/** Conversations that a button lists. */
const MAX_LISTED = 20;

const keyOf = ({ model, id }) => `${model},${id}`;

/** How many conversations the person has about each record: one request for all forms of the page. */
export const recordChatsService = {
    dependencies: ["http"],
    start(env, { http }) {
        const chats = reactive({
            /** By record; null until a form asks. */
            counts: null,

            load() {
                if (!chats.counts) {
                    chats.counts = {};
                    chats.read();
                }
            },
            /** A conversation was made or deleted. */
            refresh() {
                if (chats.counts) {
                    chats.read();
                }
            },
            async read() {
                try {
                    const { records } = await http.get(`${CONVERSATIONS}/records`);
                    chats.counts = Object.fromEntries(
                        records.map((record) => [keyOf(record), record.count])
                    );
                } catch {
                    // forms do without
                }
            },
            async list({ model, id }) {
                const query = new URLSearchParams({
                    res_model: model,
                    res_id: id,
                    limit: MAX_LISTED,
                });
                const { conversations } = await http.get(`${CONVERSATIONS}?${query}`);
                return conversations || [];
            },
        });
        return chats;
    },
};

registry.category("services").add("ai_record_chats", recordChatsService);

/** The person's conversations about the record of a form, beside its buttons; nothing without any. */
export class RecordChats extends Component {
    static template = "woow_paas_platform.RecordChats";
    static components = { Dropdown, DropdownItem };
    static props = {
        model: String,
        id: [Number, { value: false }],
    };

    setup() {
        this.chats = useState(useService("ai_record_chats"));
        this.panel = useService("ai_chat_panel");
        this.notification = useService("notification");
        this.state = useState({ conversations: [] });
        this.chats.load();
    }

    get count() {
        return (this.props.id && this.chats.counts?.[keyOf(this.props)]) || 0;
    }

    async load() {
        try {
            this.state.conversations = await this.chats.list(this.props);
        } catch {
            this.state.conversations = [];
            this.notification.add(_t("The conversations could not be loaded."), { type: "danger" });
        }
    }
}

patch(FormController.prototype, {
    get RecordChats() {
        return RecordChats;
    },

    /** A new record has no id, and a dialog no buttons. */
    get recordOfChats() {
        const { resModel, resId } = this.model.root;
        return this.env.inDialog ? null : { model: resModel, id: Number.isInteger(resId) && resId };
    },
});
