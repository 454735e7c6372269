import { markRaw } from "@odoo/owl";
import { registry } from "@web/core/registry";
import { Reactive } from "@web/core/utils/reactive";
import { batched } from "@web/core/utils/timing";
import { LiveTurn } from "../turn/live_turn";
import { AiApi } from "../core/ai_api";
import { pastCall } from "../turn/turn_history";
import { isFinal, newTurnState } from "../turn/turn_state";

/**
 * A turn as Discuss knows it from its messages: names and outcomes of calls, no arguments and no results.
 *
 * @typedef {Object} TurnCards
 * @property {number} id
 * @property {string} state when the message was read
 * @property {string} assistant
 * @property {number} user_id who asked, and may decide
 * @property {string} stream_url
 * @property {{id, tool, title, server, outcome, duration_ms, round}[]} tool_calls
 */

/** The turns that Discuss shows. A conversation on the screen has one stream, of its oldest open turn. */
export class DiscussTurns extends Reactive {
    /** @param {AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        /** @type {Object<number, LiveTurn>} turns that were watched here, by id */
        this.live = {};
        /** {calls, rating} or {error} of turns that somebody has opened, by id. */
        this.details = {};
        /** How often each turn is on the screen, by conversation and id. */
        this.shown = {};
        // what comes into view together is looked at together
        this.follow = batched(() => Object.values(this.shown).forEach((ids) => this.open(ids)));
    }

    /**
     * A turn that is under way came into view.
     *
     * @param {number} channelId
     * @param {TurnCards} cards
     */
    show(channelId, { id, state, stream_url: url }) {
        this.live[id] ??= new LiveTurn(
            this.api,
            { id, url, turn: newTurnState(id, state) },
            {
                onDone: () => this.follow(),
                onLost: () => this.lose(id),
            }
        );
        const shown = (this.shown[channelId] ??= {});
        shown[id] = (shown[id] || 0) + 1;
        this.follow();
    }

    /** Whether an open turn of this conversation is on the screen. */
    isShown(channelId) {
        return Object.keys(this.shown[channelId] || {}).length > 0;
    }

    hide(channelId, id) {
        const shown = this.shown[channelId];
        shown[id]--;
        if (!shown[id]) {
            delete shown[id];
            this.live[id]?.close();
        }
        this.follow();
    }

    /** The stream of the oldest of these turns of a conversation that have not ended. */
    open(ids) {
        const turns = Object.keys(ids).map((id) => this.live[id]);
        const [first, ...others] = turns
            .filter((live) => live && !isFinal(live.turn))
            .sort((a, b) => a.id - b.id);
        others.forEach((live) => live.close());
        if (first && !first.reader) {
            first.open();
        }
    }

    /** Its log is closed to us: its message tells what became of it. */
    lose(id) {
        delete this.live[id];
        this.follow();
    }

    /**
     * Arguments and results of a turn's calls and the person's own rating, fetched once.
     *
     * @param {number} id
     */
    async load(id) {
        if (this.details[id] && !this.details[id].error) {
            return;
        }
        this.details[id] = {};
        try {
            const { tool_calls: calls, rating = null } = await this.api.turn(id);
            this.details[id] = { calls: markRaw(calls.map(pastCall)), rating };
        } catch (error) {
            this.details[id] = { error };
        }
    }

    /** Rates an answer whose details are known; see `AiApi.rate`. */
    async rate(id, values) {
        this.details[id].rating = await this.api.rate(id, values);
    }
}

export const discussTurnsService = {
    start() {
        return new DiscussTurns(new AiApi());
    },
};

registry.category("services").add("ai_discuss_turns", discussTurnsService);
