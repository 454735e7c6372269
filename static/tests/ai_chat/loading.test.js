import {
    advanceTime,
    beforeEach,
    click,
    Deferred,
    describe,
    edit,
    expect,
    queryAllTexts,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { SEARCH_DELAY } from "@woow_paas_platform/mentions/mention_center";
import { ask, mountChat, settle } from "../ai_chat_test_helpers";
import { json } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const PROMPT = {
    server: { id: 1, name: "wiki" },
    name: "greet",
    title: "",
    description: "",
    arguments: [],
};
const AZURE = { model: "res.partner", id: 4, name: "Azure", label: "Contact", image: null };

/** @type {FakeServer} */
let server;
/** Answers the request for the assistants. */
let load;
beforeEach(async () => {
    sessionStorage.clear();
    server = new FakeServer();
    server.prompts = [PROMPT];
    server.records = [AZURE];
    const assistants = new Deferred();
    server.interrupt("GET /api/ai/assistants", assistants);
    load = async () => {
        const bare = { image_url: null, greeting: "", starters: [], records: [] };
        const listed = [{ ...server.assistants[0], ...bare }];
        assistants.resolve(json({ assistants: listed, can_create: false }));
        await settle();
    };
    await mountChat();
});

async function type(text) {
    await click(".o_ai_chat_input");
    await edit(text);
    await settle();
}

test("a message that was sent early goes when the assistants are there", async () => {
    expect(".o_ai_chat_input").toBeEnabled();
    await ask("Hello");
    expect(".o_ai_chat_input").toHaveValue("Hello");
    expect(".o_ai_chat_send").not.toBeEnabled();
    await load();
    expect(".o_ai_chat_bubble").toHaveText("Hello");
    expect(".o_ai_chat_input").toHaveValue("");
});

test("a slash that was typed early offers prompts when the assistants are there", async () => {
    await type("/wiki:gr");
    expect(".o_ai_chat_commands").toHaveCount(0);
    await load();
    expect(queryAllTexts(".o_ai_chat_commands strong")).toEqual(["/wiki:greet"]);
    expect(server.requestsTo("/prompts")).toHaveLength(1);
});

test("a prompt that was entered early is used when the assistants are there", async () => {
    const file = { id: 9, name: "ann.txt", mimetype: "text/plain", url: "/api/ai/attachments/9" };
    const message = { role: "user", text: "Greet me.", attachments: [file] };
    server.interrupt("/prompts/get", json({ messages: [message], left_out: 1 }));
    await ask("/wiki:greet");
    expect(".o_ai_chat_command").toHaveCount(0);
    await load();
    expect(".o_ai_chat_input").toHaveValue("Greet me.");
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["ann.txt"]);
    expect(".o_ai_chat_files_error").toHaveText(/were not attached \(1\)/);
    expect(server.conversations).toHaveLength(0);
});

test("a command that was entered early is carried out when the assistants are there", async () => {
    await ask("/mcp tools");
    expect(".o_ai_chat_command [role=alert]").toHaveCount(0);
    await load();
    expect(".o_ai_chat_command").toHaveText(/\/mcp tools/);
});

test("what servers have is listed when the assistants are there", async () => {
    server.resources.resources = [{ server: PROMPT.server, uri: "wiki://one", name: "one" }];
    await click(".o_ai_chat_attach button");
    await settle();
    await click("[role=menuitem]:last");
    await settle();
    expect(".o_ai_chat_resources [role=status]").toHaveText("Loading resources…");
    await load();
    expect(queryAllTexts("[role=option]")).toEqual(["one\nwiki://one"]);
});

test("an early slash that is no prompt is refused when the assistants are there", async () => {
    await ask("/wiki:none");
    await load();
    expect(".o_ai_chat_command").toHaveText(/is not a command/);
    expect(".o_ai_chat_input").toHaveValue("/wiki:none");
    expect(server.conversations).toHaveLength(0);
});

test("a sign that was typed early offers records when the assistants are there", async () => {
    await type("about @azu");
    await advanceTime(SEARCH_DELAY);
    expect(server.requestsTo("/records")).toHaveLength(0);
    await load();
    await advanceTime(SEARCH_DELAY);
    await settle();
    expect(queryAllTexts(".o_ai_chat_mentions strong")).toEqual(["Azure"]);
});

test("another assistant has other prompts and records", async () => {
    server.assistants.push({ ...server.assistants[0], id: 2, name: "Bob" });
    await load();
    await click(".o_ai_chat_new"); // which reads the assistants again
    await settle();
    await type("/wiki:gr");
    await click(".o_ai_chat_choice:last");
    await settle();
    expect(server.requestsTo("/prompts").map(({ line }) => line)).toEqual([
        "GET /api/ai/assistants/1/prompts",
        "GET /api/ai/assistants/2/prompts",
    ]);
});
