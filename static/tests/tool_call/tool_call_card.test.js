import {
    animationFrame,
    click,
    edit,
    expect,
    queryAllTexts,
    queryOne,
    queryText,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mockService, mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { parseJson } from "@woow_paas_platform/core/format";
import { ToolCallCard } from "@woow_paas_platform/tool_call/tool_call_card";

defineMailModels();

const CALL = {
    id: "c1",
    tool: "get_time",
    title: "Get Time",
    server: "time",
    args: { zone: "Asia/Taipei" },
    result: null,
    outcome: null,
    isError: false,
    durationMs: null,
    round: 1,
    maxRounds: 5,
    truncated: false,
    attachments: [],
    progress: null,
    questions: [],
};

async function mountCard(values = {}, props = {}) {
    await mountWithCleanup(ToolCallCard, { props: { call: { ...CALL, ...values }, ...props } });
}

async function open() {
    await click(".o_ai_chat_tool_head");
    await animationFrame();
}

test("a running call shows a spinner, its names and its arguments", async () => {
    await mountCard();
    expect(".o_ai_chat_tool_icon .spinner-border").toHaveCount(1);
    expect(".o_ai_chat_tool_icon .visually-hidden").toHaveText("Running");
    expect(".o_ai_chat_tool_title").toHaveText("Get Time");
    expect(".o_ai_chat_tool_name").toHaveText("time.get_time");
    expect(".o_ai_chat_tool_duration").toHaveCount(0);

    await open();
    expect(queryOne(".o_ai_chat_tool_args").textContent).toBe('{\n  "zone": "Asia/Taipei"\n}');
    expect(".o_ai_chat_tool_result").toHaveCount(0);
});

test("it is folded, and says so to assistive technology", async () => {
    await mountCard({ outcome: "ok", result: "12:00", durationMs: 1234 });
    const head = queryOne(".o_ai_chat_tool_head");
    expect(head).toHaveAttribute("aria-expanded", "false");
    expect(`#${head.getAttribute("aria-controls")}`).not.toBeVisible();
    expect(".o_ai_chat_tool_result").toHaveCount(0);
    expect(".o_ai_chat_tool_duration").toHaveText("1.2 s");

    await open();
    expect(head).toHaveAttribute("aria-expanded", "true");
    expect(`#${head.getAttribute("aria-controls")}`).toBeVisible();
    expect(".o_ai_chat_tool_result").toHaveText("12:00");

    await open();
    expect(head).toHaveAttribute("aria-expanded", "false");
});

test("a tool without a title says its name in words, too", async () => {
    await mountCard({ title: "get_time" });
    expect(".o_ai_chat_tool_title").toHaveText("Get time");
    expect(".o_ai_chat_tool_name").toHaveText("time.get_time");
});

test("names, arguments and results are text, whatever is in them", async () => {
    const evil = `<img src="x" onerror="throw 1"><b>bold</b>`;
    await mountCard({
        title: `${evil}!`,
        tool: evil,
        args: { evil },
        result: evil,
        outcome: "ok",
    });
    await open();
    expect(".o_ai_chat_tool img").toHaveCount(0);
    expect(".o_ai_chat_tool b").toHaveCount(0);
    expect(queryOne(".o_ai_chat_tool_title").textContent).toBe(`${evil}!`);
    expect(queryOne(".o_ai_chat_tool_name").textContent).toBe(`time.${evil}`);
    expect(queryOne(".o_ai_chat_tool_result").textContent).toBe(evil);
});

test("JSON is indented, also when it came as a string", async () => {
    await mountCard({ outcome: "ok", result: '{"a":[1,2]}' });
    await open();
    expect(queryOne(".o_ai_chat_tool_result").textContent).toBe(
        '{\n  "a": [\n    1,\n    2\n  ]\n}'
    );
});

test("numbers of arguments and of JSON keep their digits", async () => {
    const args = parseJson('{"id":1234567890123456789}');
    await mountCard({ args, outcome: "ok", result: '{"id":1234567890123456789,"price":100.00}' });
    await open();
    expect(queryOne(".o_ai_chat_tool_args").textContent).toBe('{\n  "id": 1234567890123456789\n}');
    await click(".o_ai_chat_tool_raw");
    await animationFrame();
    expect(queryOne(".o_ai_chat_tool_result").textContent).toBe(
        '{\n  "id": 1234567890123456789,\n  "price": 100.00\n}'
    );
});

for (const [outcome, label] of Object.entries({
    error: "Failed",
    denied: "Not allowed",
    timeout: "Timed out",
    cancelled: "Stopped",
    unknown_tool: "Unknown tool",
    invalid_args: "Wrong arguments",
    unknown: "Outcome unknown",
    something_new: "Outcome unknown",
})) {
    test(`the outcome ${outcome} has a label and a sentence`, async () => {
        await mountCard({ outcome, isError: true, result: "details" });
        expect(".o_ai_chat_tool_outcome").toHaveText(label);
        await open();
        expect(queryText(".o_ai_chat_tool_sentence")).toMatch(/\.$/);
        expect(queryAllTexts(".o_ai_chat_tool_label")).toEqual(["Arguments", "Error"]);
        expect(".o_ai_chat_tool_result").toHaveText("details");
    });
}

test("a long result is capped until all of it is asked for", async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `line ${index}`);
    await mountCard({ outcome: "ok", result: lines.join("\n"), truncated: true });
    await open();
    expect(queryOne(".o_ai_chat_tool_result").textContent.split("\n")).toHaveLength(200);
    expect(".o_ai_chat_tool_all").toHaveText("Show all 3000 lines");
    expect(".o_ai_chat_tool_truncated").toHaveCount(1);

    await click(".o_ai_chat_tool_all");
    await animationFrame();
    expect(queryOne(".o_ai_chat_tool_result").textContent.split("\n")).toHaveLength(3000);
    expect(".o_ai_chat_tool_all").toHaveCount(0);
});

test("one endless line is capped too", async () => {
    await mountCard({ outcome: "ok", result: "x".repeat(100000) });
    await open();
    expect(queryOne(".o_ai_chat_tool_result").textContent).toHaveLength(20000);
    expect(".o_ai_chat_tool_all").toHaveText("Show all");
});

test("progress is a number and a bar", async () => {
    await mountCard({ progress: { progress: 1, total: 4, message: "Adding" } });
    expect(".o_ai_chat_tool_progress").toHaveText("Adding · 1 of 4");
    expect("[role=progressbar]").toHaveAttribute("aria-valuenow", "25");
});

test("no arguments and no result are said", async () => {
    await mountCard({ args: {}, outcome: "ok", result: "" });
    await open();
    expect(".o_ai_chat_pre").toHaveCount(0);
    expect(".o_ai_chat_tool_body").toHaveText(/None[^]*The tool returned nothing\./);
});

test("a structured result is a table, or text for who wants it", async () => {
    const result = { text: "21 degrees", structured: { temperature: 21, sky: "<b>grey</b>" } };
    await mountCard({ outcome: "ok", result });
    await open();
    expect(queryAllTexts(".o_ai_chat_tool_table th")).toEqual(["temperature", "sky"]);
    expect(queryAllTexts(".o_ai_chat_tool_table td")).toEqual(["21", "<b>grey</b>"]);
    await click(".o_ai_chat_tool_raw");
    await animationFrame();
    expect(".o_ai_chat_tool_result").toHaveText("21 degrees");
});

test("files are shown as what they are, without opening the card", async () => {
    const file = (id, name, mimetype) => ({ id, name, mimetype, url: `/api/ai/attachments/${id}` });
    await mountCard({
        outcome: "ok",
        attachments: [
            file(1, "a.png", "image/png"),
            file(2, "a.mp3", "audio/mpeg"),
            file(3, '"><img src=x>.svg', "image/svg+xml"),
        ],
    });
    expect(".o_ai_chat_file img").toHaveCount(1);
    expect(".o_ai_chat_file img").toHaveAttribute("alt", "a.png");
    expect(".o_ai_chat_file audio").toHaveAttribute("src", "/api/ai/attachments/2");
    expect("[data-kind=file] a").toHaveText('"><img src=x>.svg');
});

const QUESTION = {
    id: "question-1",
    turnId: 7,
    kind: "form",
    message: "Who?",
    schema: {
        type: "object",
        properties: {
            name: { type: "string", title: "Name" },
            tags: { type: "array", items: { enum: ["a", "b"] }, title: "Tags" },
        },
        required: ["name"],
    },
    url: "",
    host: "",
    server: "time",
    choices: ["accept", "decline", "cancel"],
    decision: null,
    by: "",
    expiresAt: null,
};

test("a question of the server is a form, and what does not fit is said at its field", async () => {
    const sent = [];
    mockService("ai_chat", () => ({
        api: {
            async decide(turnId, body) {
                sent.push([turnId, body]);
                const details = { fields: { name: "too_short" } };
                throw new AiApiError({
                    code: "invalid_answer",
                    message: "No.",
                    status: 422,
                    details,
                });
            },
        },
    }));
    await mountCard({ questions: [QUESTION] });
    expect(".o_ai_chat_question_message").toHaveText("Who?");
    await click("[data-decision=accept]");
    await animationFrame();
    expect(queryAllTexts(".o_ai_chat_question .text-danger")).toEqual([
        "Fill in this field.",
        "1 field needs attention.",
    ]);
    expect(".o_ai_chat_question input[name=name]").toBeFocused();
    expect(sent).toEqual([]);

    await click(".o_ai_chat_question input[name=name]");
    await edit("B");
    await click(".o_ai_chat_question input[name=tags][value='1']");
    await click("[data-decision=accept]");
    await animationFrame();
    const content = { name: "B", tags: ["b"] };
    expect(sent).toEqual([[7, { id: "question-1", decision: "accept", content }]]);
    expect(queryAllTexts(".o_ai_chat_question .text-danger")).toEqual([
        "This is too short.",
        "1 field needs attention.",
        "No.",
    ]);
});

test("a page to visit is a link that shows its host; afterwards the card tells what happened", async () => {
    mockService("ai_chat", () => ({ api: {} }));
    const url = "https://pay.example.com/1";
    const asked = { ...QUESTION, kind: "url", url, host: "pay.example.com", schema: {} };
    await mountCard({ questions: [asked] });
    expect(".o_ai_chat_question_link").toHaveText("Open pay.example.com");
    expect(".o_ai_chat_question_link").toHaveAttribute("href", url);
    expect(".o_ai_chat_question_link").toHaveAttribute("rel", "noopener noreferrer");

    await mountCard({ questions: [{ ...asked, decision: "decline", by: "Joel" }] });
    await click(".o_ai_chat_tool_head:last");
    await animationFrame();
    expect(".o_ai_chat_tool_question").toHaveText("Joel declined the request from time.");
});

test("who may not decide sees that somebody is asked, and nothing to click", async () => {
    mockService("ai_chat", () => ({ api: {} }));
    await mountCard({ questions: [QUESTION] }, { canDecide: false });
    expect(".o_ai_chat_tool_outcome").toHaveText("Waiting for a decision");
    expect(".o_ai_chat_question").toHaveCount(0);
    expect(".o_ai_chat_tool button").toHaveCount(1);
});

test("what is not known yet is asked for when the card is opened", async () => {
    const onOpen = () => expect.step("open");
    await mountCard({ outcome: "ok" }, { missing: "Loading…", onOpen });
    expect.verifySteps([]);
    await open();
    expect.verifySteps(["open"]);
    expect(".o_ai_chat_tool_body").toHaveText("Loading…");
    await open();
    expect.verifySteps([]);
});
