import { browser } from "@web/core/browser/browser";
import { parseAnswer } from "./format";
import { SseParser } from "./sse_parser";

/** Milliseconds before a stream that the server closed in good order is opened again. */
export const DEFAULT_RETRY = 500;
/** Milliseconds: first and longest wait after a failure; doubles, with jitter, in between. */
export const BACKOFF_MIN = 500;
export const BACKOFF_MAX = 15000;
/** Milliseconds without a byte after which a line counts as dead; the server comments every 15 s. */
export const SILENCE_LIMIT = 45000;

const FINAL_TYPES = ["done", "error"];

/** Equal jitter: between half of the exponential step and the whole of it. */
export function backoffDelay(attempt, random = Math.random) {
    const step = Math.min(BACKOFF_MAX, BACKOFF_MIN * 2 ** Math.min(attempt, 16));
    return step / 2 + (step / 2) * random();
}

/** Reads on until the server ends the stream: a request that is aborted shows as failed in the browser. */
async function drain(reader) {
    try {
        let isOver = false;
        while (!isOver) {
            isOver = (await reader.read()).done;
        }
    } catch {
        // nothing is missing
    }
}

/**
 * Reads the event log of a turn, however often the line breaks, each event once and in order.
 *
 * It reads with `fetch` instead of `EventSource`, which hides the status of a response and gives
 * up for good on a proxy's 502. While the tab is hidden nothing is open: browsers allow six
 * connections to a host, and the log waits.
 */
export class StreamReader {
    /**
     * @param {Object} params
     * @param {(options: {after: number, signal: AbortSignal}) => Promise<Response>} params.open
     *  rejects with an error that may have `isTemporary` and `retryAfter` (seconds)
     * @param {(events: Object[]) => void} params.onEvents what arrived together, each with `seq`
     * @param {(status: string, error?: Error) => void} [params.onStatus] `connecting`, `live`,
     *  `offline` (trying again), `paused` (hidden), `ended` (nothing is left) or `failed`
     * @param {number} [params.after] the last event that is known already
     */
    constructor({ open, onEvents, onStatus = () => {}, after = 0 }) {
        this.open = open;
        this.onEvents = onEvents;
        this.onStatus = onStatus;
        this.lastSeq = after;
        this.attempt = 0;
        this.closed = false;
        this.status = null;
        this.controller = null;
        this.wake = () => {};
        this.onVisibility = () => this.handleVisibility();
        this.onOnline = () => this.wake();
    }

    start() {
        document.addEventListener("visibilitychange", this.onVisibility);
        browser.addEventListener("online", this.onOnline);
        this.finished = this.run();
        return this;
    }

    close() {
        if (this.closed) {
            return;
        }
        this.closed = true;
        document.removeEventListener("visibilitychange", this.onVisibility);
        browser.removeEventListener("online", this.onOnline);
        this.controller?.abort();
        this.wake();
    }

    get isHidden() {
        return document.visibilityState === "hidden";
    }

    handleVisibility() {
        if (this.isHidden) {
            this.controller?.abort();
        } else {
            this.attempt = 0;
            this.wake();
        }
    }

    setStatus(status, error) {
        if (!this.closed && this.status !== status) {
            this.status = status;
            this.onStatus(status, error);
        }
    }

    finish(status, error) {
        this.setStatus(status, error);
        this.close();
    }

    async run() {
        while (!this.closed) {
            if (this.isHidden) {
                this.setStatus("paused");
                await this.pause();
                continue;
            }
            try {
                const { ended, retry } = await this.readOnce();
                if (ended) {
                    this.finish("ended");
                } else if (!this.isHidden) {
                    await this.pause(retry);
                }
            } catch (error) {
                if (this.closed || this.isHidden) {
                    continue;
                }
                if (error.isTemporary === false) {
                    this.finish("failed", error);
                    return;
                }
                this.setStatus("offline", error);
                const asked = (error.retryAfter || 0) * 1000;
                await this.pause(Math.max(backoffDelay(this.attempt++), asked));
            }
        }
    }

    /** One connection, until it ends. Throws when it broke. */
    async readOnce() {
        const controller = new AbortController();
        this.controller = controller;
        let silence = null;
        const alive = () => {
            browser.clearTimeout(silence);
            silence = browser.setTimeout(() => controller.abort(), SILENCE_LIMIT);
        };
        if (this.status !== "live" && this.status !== "offline") {
            this.setStatus("connecting");
        }
        try {
            alive();
            const response = await this.open({ after: this.lastSeq, signal: controller.signal });
            if (response.status === 204) {
                return { ended: true };
            }
            this.setStatus("live");
            const parser = new SseParser();
            const decoder = new TextDecoder();
            const reader = response.body.getReader();
            for (;;) {
                const { done, value } = await reader.read();
                if (done) {
                    return { ended: false, retry: parser.retry ?? DEFAULT_RETRY };
                }
                alive();
                if (this.closed) {
                    return { ended: false };
                }
                if (this.deliver(parser.feed(decoder.decode(value, { stream: true })))) {
                    this.finish("ended");
                    await drain(reader);
                    return { ended: true };
                }
            }
        } finally {
            browser.clearTimeout(silence);
            this.controller = null;
        }
    }

    /** @returns {boolean} whether the final event was among them */
    deliver(messages) {
        const events = [];
        for (const { id, data } of messages) {
            const seq = Number(id);
            if (!Number.isInteger(seq) || seq <= this.lastSeq) {
                continue;
            }
            this.lastSeq = seq;
            try {
                events.push({ ...parseAnswer(data), seq });
            } catch {
                console.warn(`Event ${seq} of the stream is not JSON and is left out.`);
            }
        }
        const isOver = events.some((event) => FINAL_TYPES.includes(event.type));
        if (isOver) {
            this.controller = null; // who closes now lets the stream end by itself
        }
        if (events.length) {
            this.attempt = 0;
            this.onEvents(events);
        }
        return isOver;
    }

    /** Waits; a wake-up (visible again, online again, closed) ends it early. */
    pause(delay) {
        return new Promise((resolve) => {
            const timer = delay === undefined ? null : browser.setTimeout(() => resolve(), delay);
            this.wake = () => {
                browser.clearTimeout(timer);
                resolve();
            };
        });
    }
}
