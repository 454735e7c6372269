import {
    advanceTime,
    after,
    beforeEach,
    describe,
    expect,
    microTick,
    test,
    tick,
} from "@odoo/hoot";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import {
    BACKOFF_MAX,
    backoffDelay,
    DEFAULT_RETRY,
    SILENCE_LIMIT,
    StreamReader,
} from "@woow_paas_platform/core/stream_reader";
import { settle, setVisibility } from "../ai_chat_test_helpers";
import { FakeStream } from "../fake_stream";

describe.current.tags("headless");

/** Opens one scripted answer after the other and remembers how it was asked. */
class Line {
    constructor() {
        this.asked = [];
        this.answers = [];
        this.received = [];
        this.statuses = [];
    }

    will(...answers) {
        this.answers.push(...answers);
        return answers[0];
    }

    read(after_ = 0) {
        const reader = new StreamReader({
            after: after_,
            open: async (options) => {
                this.asked.push(options.after);
                const answer = this.answers.shift();
                if (answer instanceof Error) {
                    throw answer;
                }
                return answer instanceof FakeStream ? answer.open(options.signal) : answer;
            },
            onEvents: (events) => this.received.push(...events.map(({ seq }) => seq)),
            onStatus: (status) => this.statuses.push(status),
        });
        after(() => reader.close());
        return reader.start();
    }
}

function failure(status) {
    return new AiApiError({ code: "x", message: "x", status });
}

/** @type {Line} */
let line;
beforeEach(() => {
    line = new Line();
});

test("a long integer of an event keeps its digits", async () => {
    const stream = line.will(new FakeStream());
    const events = [];
    line.read().onEvents = (given) => events.push(...given);
    await settle();
    stream.write('id: 1\ndata: {"type":"tool_call","args":{"id":1234567890123456789}}\n\n');
    await settle();
    expect(events.map(({ args }) => String(args.id))).toEqual(["1234567890123456789"]);
});

test("delivers each event once and ends after the final one", async () => {
    const stream = line.will(new FakeStream());
    const reader = line.read();
    await settle();
    stream.event(1, { type: "text" });
    stream.event(1, { type: "text" });
    stream.event(2, { type: "text" });
    await settle();
    expect(line.received).toEqual([1, 2]);
    stream.event(3, { type: "done" });
    await settle();
    expect(line.received).toEqual([1, 2, 3]);
    expect(line.statuses).toEqual(["connecting", "live", "ended"]);
    expect(reader.closed).toBe(true);
    expect(stream.isAborted).toBe(false);
});

test("what is over is left to the server to end, for a while", async () => {
    const [ended, open] = [line.will(new FakeStream()), new FakeStream()];
    const reader = line.read();
    await settle();
    ended.event(1, { type: "done" });
    await settle();
    reader.close();
    ended.close();
    await settle();
    await advanceTime(SILENCE_LIMIT);
    await settle();
    expect(ended.isAborted).toBe(false);
    line.will(open);
    line.read();
    await settle();
    open.event(1, { type: "done" });
    await settle();
    await advanceTime(SILENCE_LIMIT);
    await settle();
    expect(open.isAborted).toBe(true);
});

test("resumes behind the last event when the server closes early", async () => {
    const first = line.will(new FakeStream());
    const second = line.will(new FakeStream());
    line.read(4);
    await settle();
    first.event(5, { type: "text" });
    first.close();
    await settle();
    expect(line.asked).toEqual([4]);
    await advanceTime(DEFAULT_RETRY);
    await settle();
    expect(line.asked).toEqual([4, 5]);
    second.event(5, { type: "text" });
    second.event(6, { type: "text" });
    await settle();
    expect(line.received).toEqual([5, 6]);
    expect(line.statuses).toEqual(["connecting", "live"]);
});

test("waits as long as the server's retry says", async () => {
    const first = line.will(new FakeStream());
    line.will(new FakeStream());
    line.read();
    await settle();
    first.write("retry: 2000\n\n");
    first.close();
    await settle();
    await advanceTime(1900);
    expect(line.asked).toHaveLength(1);
    await advanceTime(200);
    await settle();
    expect(line.asked).toHaveLength(2);
});

test("204 ends it: nothing is left", async () => {
    line.will(new Response(null, { status: 204 }));
    const reader = line.read(9);
    await settle();
    expect(line.statuses).toEqual(["connecting", "ended"]);
    expect(reader.closed).toBe(true);
});

test("a refusal ends it with the error", async () => {
    line.will(failure(404));
    line.read();
    await settle();
    expect(line.statuses).toEqual(["connecting", "failed"]);
    await advanceTime(60000);
    expect(line.asked).toHaveLength(1);
});

test("network failures and a proxy's 502 are tried again, ever more slowly", async () => {
    const stream = new FakeStream();
    line.will(failure(0), failure(502), failure(503), stream);
    line.read();
    for (let attempt = 0; attempt < 3; attempt++) {
        await settle();
        expect(line.asked).toHaveLength(attempt + 1);
        expect(line.statuses.at(-1)).toBe("offline");
        await advanceTime(backoffDelay(attempt, () => 1));
    }
    await settle();
    expect(line.statuses.at(-1)).toBe("live");
    stream.event(1, { type: "done" });
    await settle();
    expect(line.statuses.at(-1)).toBe("ended");
});

test("back-off doubles up to a limit and never leaves its bounds", () => {
    expect(backoffDelay(0, () => 0)).toBe(250);
    expect(backoffDelay(0, () => 1)).toBe(500);
    expect(backoffDelay(2, () => 1)).toBe(2000);
    expect(backoffDelay(99, () => 1)).toBe(BACKOFF_MAX);
    expect(backoffDelay(99, () => 0)).toBe(BACKOFF_MAX / 2);
});

test("a line that broke in the middle is opened again where it was", async () => {
    const first = line.will(new FakeStream());
    const second = line.will(new FakeStream());
    line.read();
    await settle();
    first.event(1, { type: "text" });
    await settle();
    first.fail();
    await settle();
    expect(line.statuses.at(-1)).toBe("offline");
    await advanceTime(1000);
    await settle();
    expect(line.asked).toEqual([0, 1]);
    second.event(2, { type: "error" });
    await settle();
    expect(line.received).toEqual([1, 2]);
});

test("a line that went silent counts as broken", async () => {
    const first = line.will(new FakeStream());
    line.will(new FakeStream());
    line.read();
    await settle();
    await advanceTime(SILENCE_LIMIT - 1000);
    first.write(": keep-alive\n\n");
    await settle();
    await advanceTime(SILENCE_LIMIT - 1000);
    expect(first.isAborted).toBe(false);
    await advanceTime(2000);
    await settle();
    expect(first.isAborted).toBe(true);
    await advanceTime(1000);
    await settle();
    expect(line.asked).toHaveLength(2);
});

test("nothing is open while the tab is hidden; visible again, it goes on", async () => {
    const first = line.will(new FakeStream());
    const second = line.will(new FakeStream());
    line.read();
    await settle();
    first.event(1, { type: "text" });
    await settle();
    setVisibility("hidden");
    await settle();
    expect(first.isAborted).toBe(true);
    await advanceTime(60000);
    expect(line.asked).toEqual([0]);
    expect(line.statuses.at(-1)).toBe("paused");
    setVisibility("visible");
    await settle();
    expect(line.asked).toEqual([0, 1]);
    second.event(2, { type: "text" });
    await settle();
    expect(line.received).toEqual([1, 2]);
    expect(line.statuses.at(-1)).toBe("live");
});

test("coming online ends the wait", async () => {
    line.will(failure(0), new FakeStream());
    line.read();
    await settle();
    expect(line.asked).toHaveLength(1);
    window.dispatchEvent(new Event("online"));
    await settle();
    expect(line.asked).toHaveLength(2);
});

test("closed means closed", async () => {
    const stream = line.will(new FakeStream());
    const reader = line.read();
    await settle();
    reader.close();
    await tick();
    await microTick();
    expect(stream.isAborted).toBe(true);
    await advanceTime(60000);
    expect(line.asked).toHaveLength(1);
    expect(line.statuses).toEqual(["connecting", "live"]);
});

test("what is not JSON is left out and nothing else", async () => {
    patchWithCleanup(console, { warn: (text) => expect.step(text) });
    const stream = line.will(new FakeStream());
    line.read();
    await settle();
    stream.write("id: 1\ndata: {broken\n\nid: 2\ndata: {}\n\ndata: {}\n\n");
    await settle();
    expect(line.received).toEqual([2]);
    expect.verifySteps(["Event 1 of the stream is not JSON and is left out."]);
});
