/**
 * Incremental decoder of `text/event-stream` (WHATWG HTML, 9.2.6 "Interpreting an event stream").
 * Knows nothing of connections: text in, events out.
 */
export class SseParser {
    constructor() {
        this.buffer = "";
        this.data = [];
        this.event = "";
        this.lastEventId = "";
        /** Milliseconds to wait before the next connection, if the server said so. */
        this.retry = null;
        this.atStart = true;
    }

    /**
     * @param {string} text the next piece of the stream, cut anywhere
     * @returns {{id: string, event: string, data: string}[]} the events that are complete now
     */
    feed(text) {
        this.buffer += text;
        if (this.atStart && this.buffer) {
            this.buffer = this.buffer.replace(/^\uFEFF/, "");
            this.atStart = false;
        }
        const events = [];
        let start = 0;
        for (;;) {
            const end = this.findLineEnd(start);
            if (!end) {
                break;
            }
            const event = this.readLine(this.buffer.slice(start, end.index));
            if (event) {
                events.push(event);
            }
            start = end.next;
        }
        this.buffer = this.buffer.slice(start);
        return events;
    }

    findLineEnd(start) {
        for (let index = start; index < this.buffer.length; index++) {
            const char = this.buffer[index];
            if (char === "\n") {
                return { index, next: index + 1 };
            }
            if (char === "\r") {
                if (index + 1 === this.buffer.length) {
                    // may be the first half of a CRLF
                    return null;
                }
                return { index, next: index + (this.buffer[index + 1] === "\n" ? 2 : 1) };
            }
        }
        return null;
    }

    readLine(line) {
        if (!line) {
            return this.dispatch();
        }
        const colon = line.indexOf(":");
        if (colon === 0) {
            return null;
        }
        const field = colon === -1 ? line : line.slice(0, colon);
        const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "data") {
            this.data.push(value);
        } else if (field === "event") {
            this.event = value;
        } else if (field === "id" && !value.includes("\0")) {
            this.lastEventId = value;
        } else if (field === "retry" && /^\d+$/.test(value)) {
            this.retry = Number(value);
        }
        return null;
    }

    dispatch() {
        const { data, event } = this;
        this.data = [];
        this.event = "";
        if (!data.length) {
            return null;
        }
        return { id: this.lastEventId, event: event || "message", data: data.join("\n") };
    }
}
