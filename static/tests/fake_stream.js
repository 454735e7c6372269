const encoder = new TextEncoder();

/** An event stream in the test's hands; may be opened before or after events are written. */
export class FakeStream {
    constructor() {
        this.isAborted = false;
        this.body = new ReadableStream({
            start: (controller) => {
                this.controller = controller;
            },
            cancel: () => {
                this.isAborted = true;
            },
        });
    }

    open(signal) {
        signal?.addEventListener("abort", () => {
            this.isAborted = true;
            this.fail();
        });
        return new Response(this.body, { headers: { "Content-Type": "text/event-stream" } });
    }

    write(text) {
        this.controller.enqueue(encoder.encode(text));
    }

    event(seq, data) {
        this.write(`id: ${seq}\ndata: ${JSON.stringify(data)}\n\n`);
    }

    close() {
        this.controller.close();
    }

    fail() {
        try {
            this.controller.error(new TypeError("network error"));
        } catch {
            // ended already
        }
    }
}
