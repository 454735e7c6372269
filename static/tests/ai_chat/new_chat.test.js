import {
    animationFrame,
    beforeEach,
    click,
    Deferred,
    describe,
    edit,
    expect,
    manuallyDispatchProgrammaticEvent,
    press,
    queryAllTexts,
    queryOne,
    test,
} from "@odoo/hoot";
import { browser } from "@web/core/browser/browser";
import { getService, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ask, mountChat, settle, setVisibility } from "../ai_chat_test_helpers";
import { json, refusal } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const LEAD = { model: "crm.lead", name: "Lead" };
/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
});

test("with one assistant starts at once; nothing is created before the first message", async () => {
    await mountChat({ onShow: (id) => expect.step(id) });
    expect(".o_ai_chat_choice").toHaveCount(0);
    expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Message Ada");
    expect(server.requestsTo("POST")).toHaveLength(0);
    await ask("What time is it?");
    expect(server.requestsTo("POST").map(({ body }) => body)).toMatchObject([
        { assistant_id: 1 },
        { content: "What time is it?" },
    ]);
    expect(".o_ai_chat_input").toHaveValue("");
    expect.verifySteps([null, server.conversations[0].id]);
});

test("offers the choice of assistant and cloud service", async () => {
    server.assistants.push({ id: 2, name: "Bob", description: "Ops", tools: 1 });
    server.cloudServices = [
        { id: 5, name: "Shop", state: "running", workspace: { id: 1, name: "ACME" } },
    ];
    await mountChat();
    expect(queryAllTexts(".o_ai_chat_choice .fw-bold")).toEqual(["Ada", "Bob"]);
    await click(".o_ai_chat_choice:last");
    await click(".o_ai_chat_service");
    queryOne(".o_ai_chat_service").value = "5";
    await manuallyDispatchProgrammaticEvent(queryOne(".o_ai_chat_service"), "change");
    await animationFrame();
    await ask("Hi");
    expect(server.requestsTo("POST")[0].body).toEqual({
        assistant_id: 2,
        cloud_service_id: 5,
    });
});

test("a cloud service brings its own assistants, which go with it", async () => {
    server.cloudServices = [
        { id: 5, name: "Shop", state: "running", workspace: { id: 1, name: "ACME" } },
    ];
    server.serviceAssistants[5] = [{ id: 9, name: "Shop helper", description: "", tools: 1 }];
    await mountChat();
    const choose = async (id) => {
        queryOne(".o_ai_chat_service").value = id;
        await manuallyDispatchProgrammaticEvent(queryOne(".o_ai_chat_service"), "change");
        await settle();
    };
    expect(".o_ai_chat_choice").toHaveCount(0);
    await choose("5");
    expect(queryAllTexts(".o_ai_chat_choice .fw-bold")).toEqual(["Shop helper", "Ada"]);
    await click(".o_ai_chat_choice:first");
    await choose("");
    expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Message Ada");
    await choose("5");
    await click(".o_ai_chat_choice:first");
    await ask("Hi");
    expect(server.requestsTo("POST")[0].body).toEqual({ assistant_id: 9, cloud_service_id: 5 });
});

test("greets with the face of its assistant, and a click asks what is suggested", async () => {
    Object.assign(server.assistants[0], {
        image_url: "/web/static/img/placeholder.png",
        greeting: "What may I look up?",
        starters: ["What time is it?"],
        records: [{ model: "res.partner", name: "Contact" }],
    });
    const starters = ["What runs?"];
    server.cloudServices = [
        { id: 5, name: "Shop", state: "running", starters, workspace: { id: 1, name: "ACME" } },
    ];
    const record = { model: "res.partner", id: 4, name: "Azure" };
    await mountChat({ newChat: { cloud_service_id: 5, record } });
    expect(".o_ai_chat_start h2").toHaveText("What may I look up?");
    expect(".o_ai_chat_start .o_ai_chat_avatar img").toHaveCount(1);
    expect(queryAllTexts(".o_ai_chat_starters button")).toEqual([
        "Summarize “Azure”.",
        "What is open on “Azure”?",
        "What runs?",
        "What time is it?",
    ]);
    await click(".o_ai_chat_starters button:last");
    await settle();
    expect(server.requestsTo("/messages")[0].body).toMatchObject({
        content: "What time is it?",
    });
});

test("earlier chats about the record are opened from there", async () => {
    const record = { model: "res.partner", id: 4, name: "Azure" };
    const earlier = server.conversation({ name: "What is open?", record });
    server.message(earlier, "user", "What is open on Azure?");
    server.conversation({ name: "Something else" });
    await mountChat({ newChat: { record } });
    expect(".o_ai_chat_earlier button").toHaveText(/^What is open\?/);
    await click(".o_ai_chat_earlier button");
    await settle();
    expect(".o_ai_chat_bubble").toHaveText("What is open on Azure?");
});

test("without an image the face is the first letter, also when the image is gone", async () => {
    await mountChat();
    expect(".o_ai_chat_start .o_ai_chat_avatar").toHaveText("A");
    server.assistants[0].image_url = "/web/static/img/placeholder.png";
    const conversation = server.conversation({
        assistant: { id: 1, name: "Ada", image_url: "/web/static/img/placeholder.png" },
    });
    const turn = { id: 5, state: "done", tool_calls: [], usage: null, error: null };
    server.message(conversation, "assistant", "Yes.", turn);
    setVisibility("visible");
    await settle();
    await click(`[data-conversation-id='${conversation.id}']`);
    await settle();
    const face = ".o_ai_chat_message_assistant .o_ai_chat_avatar";
    await manuallyDispatchProgrammaticEvent(queryOne(`${face} img`), "error");
    await animationFrame();
    expect(face).toHaveText("A");
});

test("the first one asks which language it is to be", async () => {
    Object.assign(server.preferences, {
        language: "en_US",
        languages: [
            { code: "en_US", name: "English (US)" },
            { code: "zh_TW", name: "繁體中文" },
        ],
    });
    patchWithCleanup(browser.location, { assign: (path) => expect.step(path) });
    await mountChat();
    expect(queryAllTexts(".o_ai_chat_languages .btn")).toEqual(["English (US)", "繁體中文"]);
    expect(".o_ai_chat_languages .btn:first").toHaveAttribute("aria-pressed", "true");
    await click(".o_ai_chat_languages .btn:last");
    await settle();
    expect(server.preferences.language).toBe("zh_TW");
    expect.verifySteps([browser.location.pathname + browser.location.search]);
    // The page in the other language has what is written before it is there.
    await ask("Hi");
    expect(server.conversations).toHaveLength(0);
    expect(".o_ai_chat_input").toHaveValue("Hi");
});

test("later ones do not ask again", async () => {
    server.preferences.languages = [
        { code: "en_US", name: "English (US)" },
        { code: "zh_TW", name: "繁體中文" },
    ];
    server.conversation();
    await mountChat();
    expect(".o_ai_chat_languages").toHaveCount(0);
});

test("says so when there is no assistant", async () => {
    server.assistants = [];
    await mountChat();
    expect(".o_ai_chat_no_assistant").toHaveText(/Ask your administrator/);
    expect(".o_ai_chat_input").not.toBeEnabled();
});

test("who may add an assistant is led there", async () => {
    server.assistants = [];
    server.canCreate = true;
    await mountChat();
    expect(".o_ai_chat_no_assistant").toHaveText(/Create an assistant/);
    expect(".o_ai_chat_no_assistant a").toHaveCount(1);
});

test("keeps the text when the conversation cannot be made", async () => {
    await mountChat();
    server.interrupt("POST /api/ai/conversations", new TypeError("Failed to fetch"));
    await ask("Hello");
    expect(".o_ai_chat_input").toHaveValue("Hello");
    expect(".o_ai_chat_start .alert").toHaveText(/cannot be reached/);
    await press("Enter");
    await settle();
    expect(".o_ai_chat_bubble").toHaveText("Hello");
});

test("where nothing can be asked any more, it says why and leads to a new chat", async () => {
    const conversation = server.conversation({ closed: "This assistant is gone." });
    const question = server.message(conversation, "user", "Hi");
    const turn = { id: 7, state: "failed", tool_calls: [], usage: null, error: null };
    server.message(conversation, "assistant", "", turn);
    await mountChat({ conversationId: conversation.id });
    expect(`[data-message-id='${question.id}']`).toHaveCount(1);
    expect(".o_ai_chat_closed span").toHaveText("This assistant is gone.");
    expect(".o_ai_chat_input, .o_ai_chat_retry, .o_ai_chat_edit_question").toHaveCount(0);
    await click(".o_ai_chat_closed button");
    await settle();
    expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Message Ada");
});

test("what is typed while the conversation is made stays", async () => {
    await mountChat();
    const made = new Deferred();
    server.interrupt("POST /api/ai/conversations", made);
    await ask("Hello");
    await edit("Hello and");
    made.resolve(json(server.listed(server.conversation({ name: "" })), 201));
    await settle();
    expect(".o_ai_chat_bubble").toHaveText("Hello");
    expect(".o_ai_chat_input").toHaveValue(" and");
});

test("the next one begins with the assistant of the last one", async () => {
    server.assistants.push({ id: 2, name: "Bob", description: "Ops", tools: 1 });
    await mountChat();
    expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Message Ada");
    server.assistants.reverse(); // the one talked to last comes first
    await click(".o_ai_chat_new");
    await settle();
    expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Message Bob");
    await click(".o_ai_chat_choice:last");
    setVisibility("visible");
    await settle();
    expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Message Ada");
});

test("an expired session leads to the sign-in", async () => {
    server.interrupt("GET /api/ai/assistants", refusal(401, "unauthenticated", "No."));
    await mountChat();
    expect(".o_ai_chat_start .alert a").toHaveAttribute("href", /^\/web\/login\?redirect=/);
    expect(".o_ai_chat_start .alert button").toHaveCount(0);
});

test("an assistant of records says which", async () => {
    server.assistants.push({ id: 2, name: "Sam", description: "", tools: 0, records: [LEAD] });
    server.recordModels = [LEAD, { model: "res.partner", name: "Contact" }];
    await mountChat();
    expect(queryAllTexts(".o_ai_chat_choice_records")).toEqual(["Lead"]);
    expect(".o_ai_chat_scope").toHaveText("Ada · Lead, Contact");
    await click(".o_ai_chat_scope");
    await settle();
    expect(".o_ai_chat_own_records").toHaveText(/Lead, Contact/);
    expect(".o_ai_chat_servers_panel").not.toHaveText(/no MCP servers/);
});

test("a temporary chat is in no list, and deleted when another one takes its place", async () => {
    const talk = server.conversation({ name: "A talk" });
    await mountChat();
    await click("#o_ai_chat_temporary");
    await ask("Between us");
    expect(server.requestsTo("POST")[0].body).toMatchObject({ temporary: true });
    expect(queryAllTexts(".o_ai_chat_conversation .fw-bold")).toEqual(["A talk"]);
    expect(".o_ai_chat_title").toHaveText("Temporary chat");
    expect(".o_ai_chat_temporary_bar").toHaveCount(1);
    expect(".o_ai_chat_delete").toHaveCount(0);
    await click(".o_ai_chat_end");
    await settle();
    expect(server.conversations).toEqual([talk]);
    expect(".o_ai_chat_temporary_bar").toHaveCount(0);
    expect("#o_ai_chat_temporary").not.toBeChecked();
});

test("a temporary chat goes when another one is opened, but not when it is opened again", async () => {
    const talk = server.conversation({ name: "A talk" });
    const hidden = server.conversation({ name: "Hidden", temporary: true });
    await mountChat({ conversationId: hidden.id });
    expect(".o_ai_chat_temporary_bar").toHaveCount(1);
    await getService("ai_chat").open(hidden.id);
    await settle();
    expect(server.conversations).toHaveLength(2);
    await click(".o_ai_chat_conversation");
    await settle();
    expect(server.conversations).toEqual([talk]);
});

test("a temporary chat that is kept becomes an ordinary one", async () => {
    await mountChat();
    await click("#o_ai_chat_temporary");
    await ask("Between us");
    await click(".o_ai_chat_keep");
    await settle();
    expect(".o_ai_chat_temporary_bar").toHaveCount(0);
    expect(".o_ai_chat_conversation").toHaveCount(1);
    await click(".o_ai_chat_new");
    await settle();
    expect(server.conversations).toHaveLength(1);
});

test("another conversation that is opened meanwhile stays, and what is typed there", async () => {
    const other = server.conversation({ name: "Other" });
    await mountChat();
    const made = new Deferred();
    server.interrupt("POST /api/ai/conversations", made);
    await ask("Hi");
    const store = getService("ai_chat");
    await store.open(other.id);
    await settle();
    await click(".o_ai_chat_input");
    await edit("Typed here");
    const conversation = server.conversation({ name: "New" });
    made.resolve(json(server.listed(conversation), 201));
    await settle();
    expect(store.currentId).toBe(other.id);
    expect(store.threads[conversation.id].isShown).toBe(false);
    expect(".o_ai_chat_input").toHaveValue("Typed here");
    expect(conversation.messages[0].text).toBe("Hi");
});
