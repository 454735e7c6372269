import { describe, expect, test } from "@odoo/hoot";
import { SseParser } from "@woow_paas_platform/core/sse_parser";

describe.current.tags("headless");

const STREAM = [
    ": a comment\n",
    "retry: 750\n",
    "\n",
    "id: 1\n",
    'data: {"type":"text"}\n',
    "\n",
    "id: 2\r\n",
    "event: other\r\n",
    "data: two\r\n",
    "data:  lines\r\n",
    "\r\n",
    "data\n",
    "unknown: field\n",
    "\n",
    "id: 4\n",
    "data: never finished",
].join("");

const EVENTS = [
    { id: "1", event: "message", data: '{"type":"text"}' },
    { id: "2", event: "other", data: "two\n lines" },
    { id: "2", event: "message", data: "" },
];

test("decodes fields, comments and every kind of line end", () => {
    const parser = new SseParser();
    expect(parser.feed(STREAM)).toEqual(EVENTS);
    expect(parser.retry).toBe(750);
    expect(parser.lastEventId).toBe("4");
});

test("where the stream is cut makes no difference", () => {
    for (let cut = 0; cut <= STREAM.length; cut++) {
        const parser = new SseParser();
        const events = [...parser.feed(STREAM.slice(0, cut)), ...parser.feed(STREAM.slice(cut))];
        expect(events).toEqual(EVENTS);
    }
    const parser = new SseParser();
    expect([...STREAM].flatMap((char) => parser.feed(char))).toEqual(EVENTS);
});

test("a byte order mark at the start is not part of a field", () => {
    expect(new SseParser().feed("\uFEFFdata: x\n\n")).toEqual([
        { id: "", event: "message", data: "x" },
    ]);
});

test("lone carriage returns end lines too", () => {
    const parser = new SseParser();
    expect(parser.feed("id: 5\rdata: x\r\r")).toEqual([]);
    expect(parser.feed(": next\n")).toEqual([{ id: "5", event: "message", data: "x" }]);
});
