import { animationFrame, click, describe, edit, expect, queryAllTexts, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { browser } from "@web/core/browser/browser";
import { mockService, mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { McpApi } from "@woow_paas_platform/core/mcp_api";
import { Decisions } from "@woow_paas_platform/decisions/decisions";
import { settle } from "../ai_chat_test_helpers";
import { misfitOfAnswer } from "../api_check";

describe.current.tags("desktop");
defineMailModels();

const CHOICES = ["approve_once", "approve_conversation", "approve_always", "deny"];
const ROW = {
    kind: "call",
    turn_id: 7,
    title: "Send mail",
    server: "Mail",
    client: "",
    round: null,
    assistant: { id: 1, name: "Ada" },
    conversation: { id: 5, name: "Invoices", url: "/my/ai/5" },
    record: null,
    summary: "to: a@b.c",
    changes: [],
    before: [],
    has_more: false,
    destructive: false,
    asked_at: "2026-11-27T10:00:00Z",
    expires_at: "2026-11-28T10:00:00Z",
};
const ASKED = { type: "approval_required", tool: "send", title: "Send mail", server: "Mail" };

function call(id, values = {}, question = {}) {
    const asked = { ...ASKED, id, args: {}, choices: CHOICES, review_hash: `hash-${id}` };
    return { ...ROW, id, ...values, question: { ...asked, ...question } };
}

const ROUND = {
    ...ROW,
    id: "turn-8",
    kind: "round",
    turn_id: 8,
    title: "",
    server: "",
    summary: "",
    round: 3,
    assistant: { id: 2, name: "Bob" },
    question: {
        type: "confirm_required",
        id: "round-3",
        round: 3,
        choices: ["continue", "stop"],
        expires_at: null,
    },
};
const FORM = {
    ...ROW,
    id: "question-4",
    kind: "question",
    turn_id: 9,
    summary: "Who?",
    question: {
        type: "input_required",
        id: "question-4",
        kind: "form",
        server: "Mail",
        message: "Who?",
        schema: { type: "object", properties: { name: { type: "string" } } },
        choices: ["accept", "decline", "cancel"],
    },
};
const OF_CLIENT = {
    ...ROW,
    id: "direct_1",
    kind: "client_call",
    turn_id: null,
    client: "Claude Code",
    assistant: null,
    conversation: null,
    summary: "to: a@b.c · body: Pay 1",
    question: {
        id: "direct_1",
        client: "Claude Code",
        tool: "Send mail",
        server: "Mail",
        args: { to: "a@b.c", body: "Pay 1\u200b", copies: ["d"] },
        reason: "This tool is set to ask before it runs.",
        destructive: false,
        choices: ["approve_once", "approve_always", "deny"],
        asked_at: "2026-11-27T10:00:00Z",
        expires_at: "2026-11-27T11:00:00Z",
    },
};

/**
 * @param {Object[]} rows with their questions; what is decided leaves them
 * @returns {{rows: Object[], sent: Array[], refusal: Error|null}} `refusal`: of the next decision
 */
async function mountDecisions(rows) {
    const server = { rows, sent: [], refusal: null };
    const take = (id) => {
        if (server.refusal) {
            const { refusal } = server;
            server.refusal = null;
            throw refusal;
        }
        server.rows = server.rows.filter(({ question }) => question.id !== id);
    };
    const checked = (line, data) => {
        expect(misfitOfAnswer(line, 200, data)).toBe("");
        return data;
    };
    const api = {
        async decisions() {
            const decisions = server.rows.map(({ question, ...row }) => row);
            const total = server.total || decisions.length;
            return checked("GET /api/ai/decisions", { decisions, total });
        },
        async decision(id) {
            const row = server.rows.find((one) => one.id === id);
            if (!row) {
                throw new AiApiError({ code: "not_found", status: 404, message: "It is over." });
            }
            return checked(`GET /api/ai/decisions/${id}`, row);
        },
        async decide(turnId, { id, decision, shown }) {
            server.sent.push([turnId, id, decision, ...(shown ? [shown] : [])]);
            take(id);
        },
    };
    mockService("ai_chat", () => ({ api }));
    patchWithCleanup(McpApi.prototype, {
        async decideCall(id, { decision }) {
            server.sent.push([id, decision]);
            take(id);
        },
    });
    await mountWithCleanup(Decisions);
    return server;
}

async function act(selector) {
    await click(selector);
    await settle();
}

const head = (id) => `[data-decision-id="${id}"] .o_woow_decision_head`;
const inside = (id, selector) => `[data-decision-id="${id}"] ${selector}`;

test("where nothing waits a sentence says so", async () => {
    await mountDecisions([]);
    expect(".o_woow_empty").toHaveText(/Nothing is waiting for you\./);
    expect("select").toHaveCount(0);
});

test("a row says what is asked where, and what would change", async () => {
    const field = { name: "city", label: "City", type: "char", old: "Fremont", new: "Oslo" };
    const change = { kind: "changed", model: "res.partner", label: "Contact", name: "Azure" };
    await mountDecisions([
        call("c1", {
            changes: [{ ...change, sensitive: false, fields: [field] }],
            has_more: true,
            record: { model: "res.partner", id: 3, name: "Azure", url: null },
        }),
    ]);
    expect(".o_woow_decision").toHaveCount(1);
    expect(".o_woow_decision_place").toHaveText(/Ada\s*·\s*Invoices\s*·\s*Azure/);
    expect(".o_woow_decision_place a").toHaveAttribute("href", "/my/ai/5");
    expect("[data-field=city]").toHaveText(/City\s*Fremont\s*Oslo/);
    expect(".o_woow_decision").toHaveText(/Open it to see all that it does\./);
    expect("form").toHaveCount(0);
});

test("a call that is asked about again shows both changes", async () => {
    const field = { name: "city", label: "City", type: "char", new: "Oslo" };
    const change = { kind: "changed", model: "res.partner", label: "Contact", name: "Azure" };
    const from = (old) => [{ ...change, sensitive: false, fields: [{ ...field, old }] }];
    await mountDecisions([call("c1", { before: from("Graz"), changes: from("Wien") })]);
    expect(".o_woow_decision_before del").toHaveText("Graz");
    expect(".o_woow_decision_changes del").toHaveText("Wien");
});

test("the one that a link names is open, or is said to be over", async () => {
    browser.history.replaceState(null, "", "?open=c2");
    await mountDecisions([call("c1"), call("c2")]);
    expect(head("c1")).toHaveAttribute("aria-expanded", "false");
    expect(inside("c2", ".o_ai_chat_approval")).toHaveCount(1);
});

test("a link to what is over says so", async () => {
    browser.history.replaceState(null, "", "?open=c9");
    await mountDecisions([call("c1")]);
    expect("[role=status]").toHaveText("It is over.");
});

test("who may not change the values is offered no form", async () => {
    const rehearsal = { changes: [], created: [], deleted: [], messages: [], outward: [] };
    const args = { ids: [1] };
    const others = { args, fixed: ["ids"], choices: ["approve_once", "deny"], rehearsal };
    await mountDecisions([call("c1", {}, others)]);
    await act(head("c1"));
    expect(".o_ai_chat_approval").toHaveCount(1);
    expect(".o_ai_chat_approval_edit").toHaveCount(0);
});

test("a call is opened, read and allowed as it was shown", async () => {
    const server = await mountDecisions([call("c1"), call("c2")]);
    await act(head("c1"));
    expect(head("c1")).toHaveAttribute("aria-expanded", "true");
    expect(".o_ai_chat_approval").toHaveCount(1);
    await act(inside("c1", "[data-decision=approve_once]"));
    expect(server.sent).toEqual([[7, "c1", "approve_once", { c1: "hash-c1" }]]);
    expect(".o_woow_decision").toHaveCount(1);
    expect("[role=status]").toHaveText("“Send mail” is allowed.");
    expect(head("c2")).toBeFocused();
});

test("rounds and questions are decided with their own cards", async () => {
    const server = await mountDecisions([ROUND, FORM]);
    await act(head("turn-8"));
    await act(inside("turn-8", "[data-decision=continue]"));
    await act(head("question-4"));
    await click(inside("question-4", "[name=name]"));
    await edit("Ann");
    await act(inside("question-4", "[data-decision=accept]"));
    expect(server.sent).toEqual([
        [8, "round-3", "continue"],
        [9, "question-4", "accept"],
    ]);
    expect(".o_woow_empty").toHaveCount(1);
    expect("h1").toBeFocused();
});

test("a call of a client is shown whole and allowed", async () => {
    const server = await mountDecisions([OF_CLIENT]);
    await act(head("direct_1"));
    expect(".o_woow_client_call").toHaveText(/“Claude Code” wants to call “Send mail” of “Mail”/);
    expect("dd:eq(1)").toHaveText("Pay 1[U+200B]");
    expect("dd:eq(2)").toHaveText('["d"]');
    await act("[data-decision=approve_always]");
    expect(server.sent).toEqual([["direct_1", "approve_always"]]);
    expect("[role=status]").toHaveText(/Let the program make the call again/);
});

test("a program with a key has no name, and what destroys is denied first", async () => {
    const question = { ...OF_CLIENT.question, client: "", destructive: true };
    await mountDecisions([{ ...OF_CLIENT, client: "", destructive: true, question }]);
    await act(head("direct_1"));
    expect(".o_woow_client_call").toHaveText(/A program with your key/);
    expect("[data-decision=deny]").toHaveClass("btn-primary");
});

test("a late decision leads to the question as it is now", async () => {
    const server = await mountDecisions([call("c1")]);
    await act(head("c1"));
    server.rows = [call("c1", {}, { reason: "It is another one.", review_hash: "newer" })];
    server.refusal = new AiApiError({
        code: "question_changed",
        status: 409,
        message: "The question has changed.",
    });
    await act(inside("c1", "[data-decision=approve_once]"));
    expect("[role=alert]").toHaveText("The question has changed.");
    expect(".o_ai_chat_approval_why").toHaveText("It is another one.");
    await act(inside("c1", "[data-decision=approve_once]"));
    expect(server.sent.map(([, , , shown]) => shown)).toEqual([{ c1: "hash-c1" }, { c1: "newer" }]);
    expect(".o_woow_decision").toHaveCount(0);
});

test("what was decided elsewhere goes", async () => {
    const server = await mountDecisions([call("c1")]);
    await act(head("c1"));
    server.rows = [];
    server.refusal = new AiApiError({ code: "already_decided", status: 409, message: "Late." });
    await act(inside("c1", "[data-decision=deny]"));
    expect(".o_woow_decision").toHaveCount(0);
    expect("[role=status]").toHaveText("It is over.");
});

test("only calls whose cards were shown are decided together, each with what was shown", async () => {
    const server = await mountDecisions([
        call("c1"),
        call("c2"),
        call("c3", { destructive: true }, { destructive: true }),
        call("c4", {}, { choices: ["deny"] }),
        OF_CLIENT,
        ROUND,
    ]);
    expect("input[type=checkbox]").toHaveCount(0);
    await act(head("c1"));
    expect(".o_woow_decision_select").toHaveCount(1);
    await act(".o_woow_decisions_open");
    expect(".o_woow_decision_select").toHaveCount(3);
    for (const id of ["c1", "c2", "direct_1"]) {
        await click(inside(id, ".o_woow_decision_select input"));
    }
    await animationFrame();
    expect(".o_woow_decisions_together").toHaveText(/3 selected/);
    server.refusal = new AiApiError({ code: "busy", status: 503, message: "Busy." });
    await act(".o_woow_decisions_together [data-decision=approve_once]");
    expect(server.sent).toEqual([
        [7, "c1", "approve_once", { c1: "hash-c1" }],
        [7, "c2", "approve_once", { c2: "hash-c2" }],
        ["direct_1", "approve_once"],
    ]);
    expect(inside("c1", "[role=alert]")).toHaveText("Busy.");
    expect(".o_woow_decision").toHaveCount(4);
    expect("[role=status]").toHaveText("2 calls are allowed.");
});

test("a call whose values were changed is decided in its card", async () => {
    const schema = { properties: { to: { type: "string" } } };
    await mountDecisions([call("c1", {}, { args: { to: "a" }, schema }), call("c2")]);
    await act(".o_woow_decisions_open");
    await click(inside("c1", ".o_woow_decision_select input"));
    await click(inside("c1", ".o_ai_chat_approval [name=to]"));
    await edit("b");
    await animationFrame();
    expect(inside("c1", ".o_woow_decision_select")).toHaveCount(0);
    expect(".o_woow_decisions_together").toHaveCount(0);
    expect(inside("c2", ".o_woow_decision_select")).toHaveCount(1);
});

test("filters", async () => {
    await mountDecisions([call("c1"), ROUND, OF_CLIENT]);
    const shown = () => queryAllTexts(".o_woow_decision_head .fw-bold");
    const choose = async (selector, value) => {
        document.querySelector(selector).value = value;
        document.querySelector(selector).dispatchEvent(new Event("change"));
        await settle();
    };
    const all = ["Send mail", "Continue with round 3?", "Claude Code: Send mail"];
    expect(shown()).toEqual(all);
    await choose(".o_woow_decisions_from", "clients");
    expect(shown()).toEqual(all.slice(2));
    await choose(".o_woow_decisions_from", "conversations");
    expect(shown()).toEqual(all.slice(0, 2));
    await choose(".o_woow_decisions_from", "2");
    expect(shown()).toEqual(all.slice(1, 2));
    await choose(".o_woow_decisions_kind", "call");
    expect(".o_woow_empty").toHaveText(/None of the open decisions match/);
    await act(".o_woow_empty button");
    expect(shown()).toEqual(all);
});

test("what does not fit is counted", async () => {
    const rows = Array.from({ length: 50 }, (_, index) => call(`c${index}`));
    const server = await mountDecisions(rows);
    server.total = 70;
    document.dispatchEvent(new Event("visibilitychange"));
    await settle();
    expect(".o_woow_decisions").toHaveText(/The newest 50 of 70 are shown\./);
});
