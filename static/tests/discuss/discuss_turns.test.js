import { beforeEach, expect, test } from "@odoo/hoot";
import { DiscussTurns } from "@woow_paas_platform/discuss/discuss_turns";
import { settle } from "../ai_chat_test_helpers";
import { FakeStream } from "../fake_stream";

const CHANNEL = 3;

/** @type {Object<string, FakeStream[]>} by address */
let opened;
/** @type {DiscussTurns} */
let turns;
beforeEach(() => {
    opened = {};
    const api = {
        async openStream(url, { signal }) {
            const stream = new FakeStream();
            (opened[url] ??= []).push(stream);
            return stream.open(signal);
        },
        async turn(id) {
            expect.step(`turn ${id}`);
            return { tool_calls: [{ id: "c1", tool: "look", outcome: "ok", result: "seen" }] };
        },
    };
    turns = new DiscussTurns(api);
});

function cards(id, state = "running") {
    return { id, state, stream_url: `/${id}`, user_id: 2, assistant: "Ada", tool_calls: [] };
}

test("of a conversation only the oldest open turn has a stream, then the next", async () => {
    turns.show(CHANNEL, cards(8, "queued"));
    turns.show(CHANNEL, cards(7));
    turns.show(4, cards(9));
    await settle();
    expect(Object.keys(opened)).toEqual(["/7", "/9"]);
    opened["/7"][0].event(1, { type: "done", state: "done", message_id: 5 });
    await settle();
    expect(Object.keys(opened)).toEqual(["/7", "/9", "/8"]);
});

test("a stream ends with the last place that shows its turn, and goes on from there", async () => {
    turns.show(CHANNEL, cards(7));
    turns.show(CHANNEL, cards(7));
    await settle();
    opened["/7"][0].event(1, { type: "text", content: "One", step: 1 });
    await settle();
    turns.hide(CHANNEL, 7);
    expect(opened["/7"][0].isAborted).toBe(false);
    turns.hide(CHANNEL, 7);
    await settle();
    expect(opened["/7"][0].isAborted).toBe(true);
    turns.show(CHANNEL, cards(7));
    await settle();
    expect(opened["/7"]).toHaveLength(2);
    expect(turns.live[7].turn.items).toHaveLength(1);
});

test("details of calls are fetched once", async () => {
    await turns.load(7);
    await turns.load(7);
    expect.verifySteps(["turn 7"]);
    expect(turns.details[7].calls[0]).toMatchObject({ tool: "look", result: "seen" });
});
