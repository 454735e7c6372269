import { fields } from "@mail/core/common/record";
import { registerThreadAction, threadActionsRegistry } from "@mail/core/common/thread_actions";
import { Thread } from "@mail/core/common/thread_model";
import { DiscussApp } from "@mail/core/public_web/discuss_app_model";
import { DiscussAppCategory } from "@mail/discuss/core/public_web/discuss_app_category_model";
import { compareDatetime } from "@mail/utils/common/misc";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { patch } from "@web/core/utils/patch";

/** Type of the channels that hold a conversation with an assistant. */
const CONVERSATION = "woow_ai_chat";
const CATEGORY = "woow_ai_chats";

patch(DiscussApp.prototype, {
    setup() {
        super.setup(...arguments);
        this.aiChats = fields.One("DiscussAppCategory", {
            compute() {
                return {
                    extraClass: "o_ai_chat_category",
                    hideWhenEmpty: true,
                    icon: "fa fa-magic",
                    id: CATEGORY,
                    name: _t("AI assistants"),
                    sequence: 35,
                };
            },
            eager: true,
        });
    },
});

registry.category("discuss.channel_commands").add("mcp", {
    channel_types: [CONVERSATION],
    help: _t("MCP servers of this conversation; “/mcp tools” and “/mcp reload” work, too"),
    methodName: "execute_command_mcp",
});

registry.category("discuss.channel_commands").add("compact", {
    channel_types: [CONVERSATION],
    help: _t("Sum up the conversation so far; words behind it say what to keep"),
    methodName: "execute_command_compact",
});

patch(DiscussAppCategory.prototype, {
    sortThreads(t1, t2) {
        if (this.id === CATEGORY) {
            return compareDatetime(t2.lastInterestDt, t1.lastInterestDt) || t2.id - t1.id;
        }
        return super.sortThreads(...arguments);
    },
});

patch(Thread.prototype, {
    get isAiConversation() {
        return this.channel_type === CONVERSATION;
    },
    get avatarUrl() {
        if (this.isAiConversation && this.correspondent) {
            return this.correspondent.avatarUrl;
        }
        return super.avatarUrl;
    },
    /** The panel tells of answers: no bubble besides, over every screen. */
    get inChathubOnNewMessage() {
        return !this.isAiConversation && super.inChathubOnNewMessage;
    },
    get allowedToUnpinChannelTypes() {
        return [...super.allowedToUnpinChannelTypes, CONVERSATION];
    },
    get isChatChannel() {
        return this.isAiConversation || super.isChatChannel;
    },
    _computeDiscussAppCategory() {
        if (this.isAiConversation) {
            return this.store.discuss.aiChats;
        }
        return super._computeDiscussAppCategory();
    },
});

// The members of a conversation with an assistant cannot be changed.
for (const id of ["invite-people", "member-list"]) {
    const action = threadActionsRegistry.get(id);
    const isOffered = action.condition;
    action.condition = (params) => !params.thread?.isAiConversation && isOffered(params);
}

registerThreadAction("woow-ai-mentions", {
    condition: ({ thread }) => Boolean(thread?.woow_may_allow_mentions),
    icon: "fa fa-fw fa-magic",
    isActive: ({ thread }) => thread.woow_ai_mentions,
    name: ({ thread }) =>
        thread.woow_ai_mentions
            ? _t("Stop assistants from replying to mentions")
            : _t("Let assistants reply to mentions"),
    async open({ store, thread }) {
        const values = { woow_ai_mentions: !thread.woow_ai_mentions };
        await store.env.services.orm.write("discuss.channel", [thread.id], values);
        Object.assign(thread, values);
    },
    sequence: 40,
    sequenceGroup: 30,
});
