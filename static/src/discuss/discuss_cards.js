import { Component, useEffect, useRef } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { user } from "@web/core/user";
import { useService } from "@web/core/utils/hooks";
import { ToolCallCard } from "../tool_call/tool_call_card";
import { Rating } from "../turn/rating";
import { TurnStatus } from "../turn/turn_status";
import { TurnView } from "../turn/turn_view";
import { pastCall } from "../turn/turn_history";
import { FINAL_STATES, isFinal } from "../turn/turn_state";
import { pageTheme } from "../backend/theme";

/**
 * The turn of a message in Discuss: live below the question while it is under way, then the cards of its
 * calls below the answer. Their details are fetched when a card is opened.
 */
export class DiscussCards extends Component {
    static template = "woow_paas_platform.DiscussCards";
    static components = { Rating, ToolCallCard, TurnStatus, TurnView };
    static props = {
        /** A message of Discuss with `woow_ai_turn`, see TurnCards. */
        message: Object,
        thread: Object,
    };

    setup() {
        this.turns = useService("ai_discuss_turns");
        useEffect(
            (isWatched, channelId, id) => {
                if (isWatched) {
                    this.turns.show(channelId, this.cards);
                    return () => this.turns.hide(channelId, id);
                }
            },
            () => [this.isWatched, this.props.thread.id, this.cards.id]
        );
        this.rating = useRef("rating");
        useEffect(
            (isRated) => {
                if (isRated) {
                    this.turns.load(this.cards.id);
                }
            },
            () => [this.isRated]
        );
        useEffect(
            (el) => el?.querySelector("button").focus(),
            () => [this.rating.el]
        );
        // Discuss stays at the end only if it is told of what grows
        useEffect(() => this.env.onImageLoaded?.());
    }

    get cards() {
        return this.props.message.woow_ai_turn;
    }

    get isOwn() {
        return this.cards.user_id === user.userId;
    }

    /** In a thread that others read, nobody but the person may read the turn. */
    get mayRead() {
        return this.isOwn || this.props.thread.isAiConversation;
    }

    /** The message is the question of a turn that was under way when Discuss heard of it. */
    get isQuestion() {
        return !FINAL_STATES.includes(this.cards.state);
    }

    get isAnswered() {
        const isAnswer = (message) =>
            message.woow_ai_turn?.id === this.cards.id && message.notEq(this.props.message);
        return this.props.thread.messages.some(isAnswer);
    }

    get isWatched() {
        return this.isQuestion && this.mayRead && !this.isAnswered;
    }

    /** What is known from the stream, if the turn is or was watched here. */
    get live() {
        return this.turns.live[this.cards.id];
    }

    /** The calls with arguments and results, where these are known. */
    get knownCalls() {
        const { live } = this;
        if (live && isFinal(live.turn)) {
            return live.turn.items.filter(({ type }) => type === "tool").map(({ call }) => call);
        }
        return this.turns.details[this.cards.id]?.calls;
    }

    get isLive() {
        return this.isWatched && Boolean(this.live);
    }

    get isStoppable() {
        return this.isOwn && !isFinal(this.live.turn);
    }

    get calls() {
        if (this.isQuestion) {
            return [];
        }
        return this.knownCalls || this.cards.tool_calls.map(pastCall);
    }

    /** Why the cards have no arguments and results. */
    get missing() {
        if (this.knownCalls) {
            return undefined;
        }
        if (!this.mayRead) {
            return _t("Only the person who asked can see the arguments and the result.");
        }
        return this.turns.details[this.cards.id]?.error?.message || _t("Loading…");
    }

    /** The person wants to rate the answer. */
    get isRated() {
        return this.isOwn && Boolean(this.props.message.woow_is_rated);
    }

    /** The turn's details once they are there, else why they are not. */
    get rated() {
        return this.isRated ? this.turns.details[this.cards.id] || {} : {};
    }

    rate(values) {
        return this.turns.rate(this.cards.id, values);
    }

    get theme() {
        return pageTheme();
    }

    load() {
        if (this.missing && this.mayRead) {
            this.turns.load(this.cards.id);
        }
    }
}

registry.category("lazy_components").add("woow_paas_platform.DiscussCards", DiscussCards);
