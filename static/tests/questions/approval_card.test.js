import {
    animationFrame,
    click,
    edit,
    expect,
    press,
    queryAll,
    queryAllTexts,
    queryOne,
    queryText,
    test,
} from "@odoo/hoot";
import { Component, reactive, useState, xml } from "@odoo/owl";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mockService, mountWithCleanup } from "@web/../tests/web_test_helpers";
import { parseJson } from "@woow_paas_platform/core/format";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { ToolCallCard } from "@woow_paas_platform/tool_call/tool_call_card";
import { applyEvents } from "@woow_paas_platform/turn/turn_events";
import { newApproval, newTurnState, toolCall } from "@woow_paas_platform/turn/turn_state";
import { TurnView } from "@woow_paas_platform/turn/turn_view";

defineMailModels();

const ASKED = {
    id: "c1",
    tool: "remove",
    title: "Remove",
    server: "files",
    args: { path: "/a" },
    schema: {
        properties: {
            path: { type: "string", title: "Path", description: "path" },
            deep: { type: "boolean", default: true, description: "Whether below it, too" },
            kind: { enum: ["f", "d"], default: "d" },
            most: { type: "integer", default: 5 },
            until: { type: "string", default: "" },
        },
    },
    choices: ["approve_once", "approve_conversation", "approve_always", "deny"],
    reason: "Why.",
    description: "Removes files.",
};

/** @returns {Object[]} what is decided, as it is sent */
async function mountAsked(values = {}, props = {}) {
    const sent = [];
    mockService("ai_chat", () => ({
        api: {
            async decide(turnId, body) {
                sent.push(body);
            },
        },
    }));
    const event = { ...ASKED, ...values };
    const call = { ...toolCall(event), approval: newApproval({ turnId: 7 }, event) };
    await mountWithCleanup(ToolCallCard, { props: { call, ...props } });
    return sent;
}

test("where the session is over the card leads to the sign-in", async () => {
    mockService("ai_chat", () => ({
        api: {
            async decide() {
                throw new AiApiError({ code: "unauthenticated", status: 401, message: "Over." });
            },
        },
    }));
    const call = { ...toolCall(ASKED), approval: newApproval({ turnId: 7 }, ASKED) };
    await mountWithCleanup(ToolCallCard, { props: { call } });
    await click("[data-decision=approve_once]");
    await animationFrame();
    expect("form [role=alert]").toHaveText(/Over\.\s*Sign in/);
    expect(".o_woow_sign_in_again").toHaveAttribute("target", "_blank");
});

test("what a field does not show stands below it", async () => {
    const padded = `Thanks!${" ".repeat(1300)}SECRET`;
    await mountAsked({
        args: { path: padded, deep: true, rows: { to: `a\u200b@b` }, until: "x y" },
    });
    expect(queryAllTexts(".o_ai_chat_hidden_text")).toEqual([
        "Thanks! [␣×1300] SECRET",
        '{"to":"a[U+200B]@b"}',
    ]);
    queryOne("textarea[name=path]").focus();
    await edit("/a");
    await animationFrame();
    expect(".o_ai_chat_hidden_text").toHaveCount(1);
});

function decisions() {
    return queryAll("[data-decision]").map((button) => button.dataset.decision);
}

test("the question says what the tool does, by whose word, and names it once", async () => {
    await mountAsked();
    expect(".o_ai_chat_approval_about").toHaveText("According to “files”: Removes files.");
    expect(".o_ai_chat_approval_hint").toHaveCount(1);
    expect(queryAllTexts(".o_ai_chat_tool code")).toEqual(["files.remove"]);
});

test("a field tells its default, and no help that repeats its name", async () => {
    await mountAsked();
    expect(queryAllTexts(".o_ai_chat_approval .text-muted.text-break")).toEqual([
        "Whether below it, too",
    ]);
    expect(queryText("select[name=deep] option:first")).toBe("Not set (default: Yes)");
    expect(queryText("select[name=kind] option:first")).toBe("Not set (default: d)");
    expect("input[name=most]").toHaveAttribute("placeholder", "Not set (default: 5)");
    expect("input[name=until]").toHaveAttribute("placeholder", "Not set");
    expect("input[name=path]").not.toHaveAttribute("placeholder");
});

test("who manages the tool is led to where it is said when it asks", async () => {
    await mountAsked({ manage_path: "/odoo/mcp-tools/4" });
    expect(".o_ai_chat_approval_manage").toHaveAttribute("href", "/odoo/mcp-tools/4");
});

test("nobody else is led there", async () => {
    await mountAsked({ manage_path: null });
    expect(".o_ai_chat_approval_manage").toHaveCount(0);
});

test("one click denies", async () => {
    const sent = await mountAsked();
    expect(decisions()).toEqual(["approve_once", "approve_conversation", "approve_always", "deny"]);
    await click("[data-decision=deny]");
    expect(sent).toEqual([{ id: "c1", decision: "deny", reason: "" }]);
});

test("a reason can be given, and is sent with Enter", async () => {
    const sent = await mountAsked();
    await click(".o_ai_chat_approval_reasoned");
    await animationFrame();
    expect(".o_ai_chat_approval_reason").toBeFocused();
    expect(decisions()).toEqual(["deny"]);
    await edit("Not this one.");
    await press("Enter");
    expect(sent).toEqual([{ id: "c1", decision: "deny", reason: "Not this one." }]);
});

test("what can destroy something is marked, and allowed once unless more is asked for", async () => {
    const sent = await mountAsked({ destructive: true });
    expect(".o_ai_chat_approval_destructive").toHaveCount(1);
    expect(".o_ai_chat_approval_why .fa-exclamation-triangle").toHaveCount(1);
    expect(decisions()).toEqual(["approve_once", "deny"]);
    expect("[data-decision=approve_once]").not.toHaveClass("btn-primary");
    await click("input[name=path]");
    await press("Enter");
    expect(sent).toEqual([], { message: "Enter in a field is no word" });
    await click(".o_ai_chat_approval_lasting");
    await animationFrame();
    expect(decisions()).toEqual(["approve_once", "approve_conversation", "approve_always", "deny"]);
    await click("[data-decision=approve_once]");
    expect(sent).toEqual([{ id: "c1", decision: "approve_once", shown: { c1: "" } }]);
});

test("Enter in a field allows what is harmless", async () => {
    const sent = await mountAsked({ review_hash: "ab12" });
    await click("input[name=path]");
    await edit("/b");
    await press("Enter");
    const shown = { c1: "ab12" };
    expect(sent).toMatchObject([{ decision: "approve_once", args: { path: "/b" }, shown }]);
});

test("what was not touched is allowed as it was asked for", async () => {
    const sent = await mountAsked({
        args: parseJson('{"id":1234567890123456789,"tags":[]}'),
        schema: {
            properties: {
                id: { type: "integer" },
                tags: { type: "array", items: { enum: ["new", "old"] } },
            },
            required: ["id", "tags"],
        },
    });
    expect("input[name=id]").toHaveValue("1234567890123456789");
    await click("[data-decision=approve_once]");
    expect(sent).toEqual([{ id: "c1", decision: "approve_once", shown: { c1: "" } }]);
});

test("of what was touched the rest is only named", async () => {
    const sent = await mountAsked({ args: { path: "/a", most: 3 } });
    await click("input[name=path]");
    await edit("/b");
    await click("[data-decision=approve_once]");
    const shown = { c1: "" };
    expect(sent).toEqual([
        { id: "c1", decision: "approve_once", args: { path: "/b" }, unchanged: ["most"], shown },
    ]);
});

test("a call that was allowed says that it starts after the other decisions", async () => {
    const call = toolCall({ id: "c2", tool: "list", server: "files" });
    await mountWithCleanup(ToolCallCard, { props: { call, isHeld: true } });
    expect(".spinner-border").toHaveCount(0);
    expect(".o_ai_chat_tool_outcome").toHaveText("Starts after your other decisions");
});

test("who decides by keyboard stays at the call, and a denied one is called so", async () => {
    const state = reactive({ call: null });
    class Owner extends Component {
        static template = xml`<ToolCallCard call="state.call"/>`;
        static components = { ToolCallCard };
        static props = {};
        setup() {
            this.state = useState(state);
        }
    }
    const approval = newApproval({ turnId: 7 }, ASKED);
    state.call = { ...toolCall(ASKED), approval };
    mockService("ai_chat", () => ({ api: { decide: async () => {} } }));
    await mountWithCleanup(Owner);
    queryOne("[data-decision=deny]").focus();
    await press("Enter");
    await animationFrame();
    const denied = { ...approval, decision: "deny", by: "Ann" };
    state.call = { ...state.call, outcome: "denied", approval: denied };
    await animationFrame();
    expect(".o_ai_chat_tool_head").toBeFocused();
    expect(".o_ai_chat_tool_outcome").toHaveText("Denied");
});

/** A turn that waits for a word about two calls. */
async function mountTwoAsked(values = {}) {
    const both = [ASKED, { ...ASKED, ...values, id: "c2" }];
    const told = [
        ...both.map((event) => ({ ...event, type: "tool_call" })),
        ...both.map((event) => ({ ...event, type: "approval_required" })),
        { type: "state", state: "waiting" },
    ].map((event, index) => ({ ...event, seq: index + 1 }));
    mockService("ai_chat", () => ({}));
    await mountWithCleanup(TurnView, { props: { turn: applyEvents(newTurnState(7), told) } });
}

function decisionsOnAll() {
    return queryAll(".o_ai_chat_decide_all [data-decision]").map(({ dataset }) => dataset.decision);
}

test("calls are allowed together as long as nobody has changed one", async () => {
    await mountTwoAsked();
    expect(decisionsOnAll()).toEqual(["approve_once", "deny"]);
    await click(".o_ai_chat_approval_reasoned:first");
    await animationFrame();
    await edit("Not this one.");
    await animationFrame();
    expect(decisionsOnAll()).toEqual(["approve_once", "deny"]);
    await click("input[name=path]:last");
    await edit("/b");
    await animationFrame();
    expect(decisionsOnAll()).toEqual(["deny"]);
});

test("what can destroy something is not allowed together with others", async () => {
    await mountTwoAsked({ destructive: true });
    expect(decisionsOnAll()).toEqual(["deny"]);
});
