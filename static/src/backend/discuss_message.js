import { Message } from "@mail/core/common/message";
import { registerMessageAction } from "@mail/core/common/message_actions";
import { Message as MessageModel } from "@mail/core/common/message_model";
import { fields } from "@mail/core/common/record";
import { decorateEmojis, htmlToTextContentInline } from "@mail/utils/common/format";
import { markup } from "@odoo/owl";
import { LazyComponent } from "@web/core/assets";
import { _t } from "@web/core/l10n/translation";
import { user } from "@web/core/user";
import { patch } from "@web/core/utils/patch";
import { CHAT_BUNDLE } from "./frame/chat_bundle";

/** Begins what tells of the calls to readers who have no cards, at the end of a body. */
const SUMMARY = '<div class="o_ai_call_summary">';
const FINAL_STATES = ["done", "failed", "stopped"];

patch(MessageModel.prototype, {
    setup() {
        super.setup(...arguments);
        this.woow_ai_turn = fields.Attr(null);
        /** Whether the person wants to rate the answer here. */
        this.woow_is_rated = fields.Attr(false);
        const { compute } = this.inlineBody;
        this.inlineBody = fields.Html("", {
            /** Previews tell what was said, and not which calls were made for it. */
            compute() {
                const [answer, summary] = String(this.body || "").split(SUMMARY);
                return summary
                    ? decorateEmojis(htmlToTextContentInline(markup(answer)))
                    : compute.call(this);
            },
        });
    },
});

registerMessageAction("woow-rate", {
    condition: ({ message, thread }) => {
        const { woow_ai_turn: turn, isSelfAuthored } = message;
        const isAnswer = Boolean(turn) && !isSelfAuthored && FINAL_STATES.includes(turn.state);
        return isAnswer && turn.user_id === user.userId && message.thread?.eq(thread);
    },
    icon: "fa fa-thumbs-o-up",
    name: _t("Rate Answer"),
    onSelected: ({ message }) => (message.woow_is_rated = true),
    sequence: 25,
});

patch(Message, { components: { ...Message.components, LazyComponent } });

patch(Message.prototype, {
    chatBundle: CHAT_BUNDLE,

    get attClass() {
        return { ...super.attClass, o_ai_answer: this.isAssistants };
    },

    get isAssistants() {
        const { woow_ai_turn: turn, isSelfAuthored } = this.props.message;
        return Boolean(turn) && !isSelfAuthored && FINAL_STATES.includes(turn.state);
    },

    /** Odoo folds quotes away, as of a mail that is replied to; in an answer they are a part of it. */
    insertEllipsisbtn() {
        if (!this.isAssistants) {
            super.insertEllipsisbtn(...arguments);
        }
    },

    /** Only where the conversation itself is shown, not in search results or the inbox. */
    get hasTurnCards() {
        const { message, thread } = this.props;
        return Boolean(message.woow_ai_turn && !this.env.messageCard && message.thread?.eq(thread));
    },
});
