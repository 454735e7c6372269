import { describe, expect, test } from "@odoo/hoot";
import { applyEvent, applyEvents } from "@woow_paas_platform/turn/turn_events";
import { turnStateFromMessage } from "@woow_paas_platform/turn/turn_history";
import {
    hasOpenText,
    isFinal,
    newTurnState,
    openQuestions,
    runningCalls,
    turnText,
} from "@woow_paas_platform/turn/turn_state";

describe.current.tags("headless");

function numbered(events) {
    return events.map((event, index) => ({ ...event, seq: index + 1 }));
}

function deepFreeze(value) {
    if (value && typeof value === "object") {
        Object.values(value).forEach(deepFreeze);
        Object.freeze(value);
    }
    return value;
}

function reduce(events) {
    return applyEvents(newTurnState(), numbered(events));
}

const CALL = { type: "tool_call", id: "c1", tool: "get_time", args: { zone: "UTC" } };

const TURN = numbered([
    { type: "turn_started", turn_id: 7, tools: 2, servers: [] },
    { type: "state", state: "running" },
    { type: "text", content: "Let me ", step: 1 },
    { type: "text", content: "look.", step: 1 },
    { type: "text_block", index: 0, html: "<p>Let me look.</p>", step: 1 },
    { ...CALL, server: "time", title: "Get Time", round: 1, max_rounds: 5 },
    { ...CALL, id: "c2", tool: "sum", server: "math", round: 1, max_rounds: 5 },
    { type: "tool_progress", id: "c2", progress: 1, total: 4, message: "Adding" },
    { type: "tool_result", id: "c2", tool: "sum", result: "4", outcome: "ok", duration_ms: 8 },
    { type: "tool_result", id: "c1", tool: "get_time", result: { t: 1 }, outcome: "ok" },
    { type: "from_the_future", id: "x" },
    { type: "notice", code: "server_down", message: "weather is down" },
    { type: "text", content: "Nearly", step: 2 },
    { type: "state", state: "running", step: 2 },
    { type: "text", content: "It is ", step: 2 },
    { type: "text", content: "one.", step: 2 },
    { type: "text_block", index: 0, html: "<p>It is one.</p>", step: 2 },
    { type: "usage", input_tokens: 10, output_tokens: 5, tool_calls: 2 },
    { type: "done", message_id: 99, state: "done" },
]);

test("text grows the open block, which its text_block replaces", () => {
    let turn = reduce([
        { type: "text", content: "One", step: 1 },
        { type: "text", content: " two", step: 1 },
    ]);
    expect(turn.items).toHaveLength(1);
    expect(turn.items[0]).toMatchObject({ type: "text", text: "One two" });
    const { key } = turn.items[0];

    turn = applyEvent(turn, { type: "text_block", html: "<p>One two</p>", step: 1, seq: 3 });
    expect(turn.items).toHaveLength(1);
    expect(turn.items[0]).toMatchObject({ type: "block", html: "<p>One two</p>", key });
    expect(hasOpenText(turn)).toBe(false);

    turn = applyEvent(turn, { type: "text", content: "Three", step: 1, seq: 4 });
    expect(turn.items.map(({ type }) => type)).toEqual(["block", "text"]);
    expect(turnText(turn)).toBe("One two\n\nThree");
});

test("a call runs until its result comes, in whatever order results come", () => {
    const turn = reduce([CALL, { ...CALL, id: "c2" }]);
    expect(runningCalls(turn)).toHaveLength(2);

    const later = applyEvent(turn, {
        type: "tool_result",
        id: "c2",
        result: "boom",
        is_error: true,
        outcome: "timeout",
        duration_ms: 30000,
        seq: 3,
    });
    expect(runningCalls(later).map(({ call }) => call.id)).toEqual(["c1"]);
    expect(later.items[1].call).toMatchObject({
        result: "boom",
        isError: true,
        outcome: "timeout",
        durationMs: 30000,
    });
    expect(later.items[0]).toBe(turn.items[0]);
});

test("progress shows until the result", () => {
    const progress = { type: "tool_progress", id: "c1", progress: 1, total: 2 };
    const turn = reduce([CALL, progress]);
    expect(turn.items[0].call.progress).toEqual({ progress: 1, total: 2, message: "" });
    const after = applyEvent(turn, { type: "tool_result", id: "c1", outcome: "ok", seq: 3 });
    expect(after.items[0].call.progress).toBe(null);
});

test("a state with a step withdraws what was said from that step on, not the calls", () => {
    const turn = reduce([
        { type: "text", content: "a", step: 1 },
        { type: "text_block", html: "<p>a</p>", step: 1 },
        { ...CALL, round: 1 },
        { type: "text", content: "b", step: 2 },
        { type: "text_block", html: "<p>b</p>", step: 2 },
        { type: "text", content: "c", step: 2 },
        { type: "state", state: "running", step: 2 },
    ]);
    expect(turn.items.map(({ type }) => type)).toEqual(["block", "tool"]);
    expect(turnText(turn)).toBe("a");
});

test("unknown events change nothing but the position", () => {
    const turn = reduce([CALL]);
    const next = applyEvent(turn, { type: "constructor", seq: 2 });
    expect(next).toEqual({ ...turn, lastSeq: 2 });
    expect(next.items).toBe(turn.items);
});

test("resuming at any event, with events coming twice, gives the same", () => {
    const whole = applyEvents(newTurnState(), TURN);
    for (let cut = 0; cut <= TURN.length; cut++) {
        const before = applyEvents(newTurnState(), TURN.slice(0, cut));
        expect(applyEvents(before, TURN.slice(cut))).toEqual(whole);
        expect(applyEvents(before, TURN)).toEqual(whole);
    }
});

test("the state before an event is left as it was", () => {
    TURN.reduce((turn, event) => deepFreeze(applyEvent(turn, event)), deepFreeze(newTurnState()));
    expect(TURN).toHaveLength(19);
});

test("the whole turn", () => {
    const turn = applyEvents(newTurnState(), TURN);
    expect(turn.items.map(({ type }) => type)).toEqual([
        "block",
        "tool",
        "tool",
        "notice",
        "block",
    ]);
    expect(turn).toMatchObject({ turnId: 7, state: "done", messageId: 99, round: 1, maxRounds: 5 });
    expect(isFinal(turn)).toBe(true);
    expect(runningCalls(turn)).toHaveLength(0);
});

test("an error ends the turn", () => {
    const turn = reduce([{ type: "error", code: "llm_down", message: "No answer." }]);
    expect(turn.state).toBe("failed");
    expect(turn.error).toEqual({ code: "llm_down", message: "No answer." });
});

test("a message of the history has the same shape", () => {
    const turn = turnStateFromMessage({
        id: 99,
        html: "<p>It is one.</p>",
        text: "It is one.",
        turn: {
            id: 7,
            state: "done",
            tool_calls: [
                {
                    id: "c1",
                    tool: "get_time",
                    title: "Get Time",
                    server: "time",
                    args: {},
                    result: "x",
                    is_error: false,
                    outcome: "ok",
                    duration_ms: 3,
                    round: 2,
                    truncated: false,
                },
            ],
            timeline: [
                { type: "notice", code: "tool_skipped", message: "One is left out." },
                { type: "text_block", html: "<p>Let me see.</p>", text: "Let me see." },
                { type: "tool_call", id: "c1" },
                { type: "confirm_required", id: "round-2", round: 2, decision: "stop", by: "Ada" },
                { type: "text_block", html: "<p>It is one.</p>", text: "It is one." },
            ],
            usage: { tool_calls: 1 },
            error: null,
        },
    });
    expect(turn).toMatchObject({ turnId: 7, state: "done", messageId: 99, round: 2 });
    const kinds = turn.items.map(({ type }) => type);
    expect(kinds).toEqual(["notice", "block", "tool", "confirm", "block"]);
    expect(turn.items[2].call).toMatchObject({ outcome: "ok", durationMs: 3, round: 2 });
    expect(turn.items[3].approval).toMatchObject({ decision: "stop", by: "Ada" });
    expect(turnText(turn)).toBe("Let me see.\n\nIt is one.");

    const events = numbered([
        { type: "notice", code: "tool_skipped", message: "One is left out." },
        { type: "text_block", html: "<p>Let me see.</p>" },
        { type: "tool_call", id: "c1", tool: "get_time", round: 2, max_rounds: 5 },
        { type: "confirm_required", id: "round-2", round: 2 },
        { type: "text_block", html: "<p>It is one.</p>", step: 1 },
    ]);
    const live = applyEvents(newTurnState(7), events);
    for (const [index, item] of live.items.entries()) {
        expect(Object.keys(turn.items[index]).sort()).toEqual(Object.keys(item).sort());
    }

    const failed = turnStateFromMessage({
        id: null,
        html: "",
        text: "",
        turn: { id: 8, state: "failed", error: { code: "x", message: "Sorry." } },
    });
    expect(failed.items).toEqual([]);
    expect(failed.error.message).toBe("Sorry.");
    expect(turnStateFromMessage({ id: 1, html: "<p>Hi</p>", text: "Hi", turn: null }).state).toBe(
        "done"
    );
});

test("a call waits for the person, is decided and runs with what the person made of it", () => {
    const call = { type: "tool_call", id: "a", tool: "pay", args: { amount: 5000 }, round: 1 };
    const question = {
        type: "approval_required",
        id: "a",
        args: { amount: 5000 },
        schema: { type: "object" },
        choices: ["approve_once", "deny"],
        reason: "Why.",
    };
    const decided = { type: "decided", id: "a", decision: "approve_once", by: "Ada" };
    const events = numbered([
        { type: "turn_started", turn_id: 7 },
        call,
        question,
        { type: "state", state: "waiting" },
        { ...decided, args: { amount: 5 } },
        { type: "state", state: "queued" },
    ]);
    const waiting = applyEvents(newTurnState(), events.slice(0, 4));
    const [open] = openQuestions(waiting);
    expect(open).toMatchObject({ id: "a", turnId: 7, decision: null, reason: "Why." });
    const turn = applyEvents(waiting, events.slice(4));
    expect(openQuestions(turn)).toEqual([]);
    expect(turn.items[0].call.args).toEqual({ amount: 5 });
    expect(turn.items[0].call.approval).toMatchObject({ decision: "approve_once", by: "Ada" });
});

test("a round waits for a word", () => {
    const events = numbered([
        { type: "confirm_required", id: "round-2", round: 2, choices: ["continue", "stop"] },
        { type: "state", state: "waiting" },
        { type: "decided", id: "round-2", decision: "stop" },
    ]);
    const waiting = applyEvents(newTurnState(3), events.slice(0, 2));
    expect(openQuestions(waiting)).toHaveLength(1);
    const turn = applyEvents(waiting, events.slice(2));
    expect(openQuestions(turn)).toEqual([]);
    expect(turn.items[0]).toMatchObject({ round: 2, approval: { decision: "stop", turnId: 3 } });
});
