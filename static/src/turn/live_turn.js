import { markRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";
import { StreamReader } from "../core/stream_reader";
import { applyEvents } from "./turn_events";
import { openQuestions } from "./turn_state";

const FINAL_EVENTS = ["done", "error"];

/** A turn that is watched while it runs: what its stream has told, and the way to stop it. */
export class LiveTurn extends Reactive {
    /**
     * @param {import("../core/ai_api").AiApi} api
     * @param {{id: number, url: string, turn: import("../core/turn_state").TurnState}} values
     *  `url` of the stream, which is read from where `turn` ends
     * @param {Object} hooks
     * @param {(turn: TurnState) => void} [hooks.onTurn] after each change
     * @param {() => void} [hooks.onAsk] it begins to wait for the person
     * @param {() => void} hooks.onDone the final event was read
     * @param {(error?: Error) => void} hooks.onLost the log is gone or closed to us
     */
    constructor(api, { id, url, turn }, { onTurn = () => {}, onAsk = () => {}, onDone, onLost }) {
        super();
        this.api = markRaw(api);
        this.id = id;
        this.url = url;
        this.turn = markRaw(turn);
        /** Of the stream: see StreamReader's statuses. */
        this.connection = "idle";
        /** Whether it waits for the person's decision, here or, as the list has it, elsewhere. */
        this.isAsking = turn.state === "waiting";
        this.isStopping = false;
        this.stopError = null;
        this.reader = null;
        this.hooks = { onTurn, onAsk, onDone, onLost };
    }

    open() {
        this.reader = markRaw(
            new StreamReader({
                open: (options) => this.api.openStream(this.url, options),
                onEvents: (events) => this.receive(events),
                onStatus: (status, error) => this.onStatus(status, error),
                after: this.turn.lastSeq,
            })
        );
        this.reader.start();
    }

    close() {
        this.reader?.close();
        this.reader = null;
        this.connection = "idle";
    }

    receive(events) {
        if (!this.reader) {
            return;
        }
        this.turn = markRaw(applyEvents(this.turn, events));
        const wasAsking = this.isAsking;
        this.isAsking = openQuestions(this.turn).length > 0;
        if (this.isAsking && !wasAsking) {
            this.hooks.onAsk();
        }
        this.hooks.onTurn(this.turn);
        if (events.some(({ type }) => FINAL_EVENTS.includes(type))) {
            this.close();
            this.hooks.onDone();
        }
    }

    onStatus(status, error) {
        if (!this.reader) {
            return;
        }
        this.connection = status;
        if (status === "ended" || status === "failed") {
            this.close();
            this.hooks.onLost(error);
        }
    }

    async stop() {
        if (this.isStopping) {
            return;
        }
        Object.assign(this, { isStopping: true, stopError: null });
        try {
            await this.api.stopTurn(this.id);
        } catch (error) {
            Object.assign(this, { isStopping: false, stopError: error });
        }
    }
}
