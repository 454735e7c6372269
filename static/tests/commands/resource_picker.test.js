import {
    beforeEach,
    click,
    describe,
    edit,
    expect,
    getFixture,
    press,
    queryAllTexts,
    queryOne,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { AiChat } from "@woow_paas_platform/ai_chat/ai_chat";
import { PAGE_SIZE } from "@woow_paas_platform/commands/resource_center";
import { settle } from "../ai_chat_test_helpers";
import { json, refusal } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const SERVER = { id: 7, name: "wiki" };

function resource(name, values = {}) {
    const uri = `wiki://${name}`;
    return { server: SERVER, uri, name, title: "", description: "", mimetype: "", ...values };
}

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
    server.resources.resources = [
        resource("one"),
        resource("two", { mimetype: "text/plain", size: 2_500 }),
    ];
});

async function openPicker() {
    getFixture().style.height = "600px";
    await mountWithCleanup(AiChat);
    await settle();
    await reopenPicker();
}

async function reopenPicker() {
    await click(".o_ai_chat_attach button");
    await settle();
    await press("ArrowDown");
    await press("Enter");
    await settle();
}

test("what is chosen with the keyboard becomes a chip, and goes with the message", async () => {
    getFixture().style.height = "600px";
    await mountWithCleanup(AiChat);
    await settle();
    await click(".o_ai_chat_input");
    await edit("Read this");
    await reopenPicker();
    expect(server.conversations).toHaveLength(0, {
        message: "looking begins no conversation",
    });
    expect(".o_ai_chat_resources input").toBeFocused();
    expect(".o_ai_chat_input").toHaveValue("Read this", { message: "the draft moves along" });
    expect("[role=option]:last").toHaveText("two\nwiki://two · text/plain · 2.5 kB");
    await press("ArrowDown");
    await press("Enter");
    await settle();
    expect(server.conversations).toHaveLength(1);
    expect(".o_ai_chat_resources").toHaveCount(0);
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["two"]);
    expect(".o_ai_chat_chip_about").toHaveAttribute("title", "wiki · wiki://two");
    expect(".o_ai_chat_input").toBeFocused();
    await press("Enter");
    await settle();
    const [sent] = server.requestsTo("/messages");
    expect(sent.body).toMatchObject({ content: "Read this" });
    expect(sent.body.attachment_ids).toHaveLength(1);
    expect(".o_ai_chat_chip").toHaveCount(0);
    expect(".o_ai_chat_file_origin").toHaveText("wiki · wiki://two");
});

test("three thousand resources are found without drawing them all", async () => {
    server.resources.resources = Array.from({ length: 3000 }, (_, i) => resource(`page ${i}`));
    await openPicker();
    expect("[role=option]").toHaveCount(PAGE_SIZE);
    expect(".o_ai_chat_resources button:last").toHaveText(`Show more (${3000 - PAGE_SIZE} left)`);
    await click(".o_ai_chat_resources button:last");
    await settle();
    expect("[role=option]").toHaveCount(2 * PAGE_SIZE);
    await click(".o_ai_chat_resources input");
    await edit("page 2999");
    await settle();
    expect(queryAllTexts("[role=option] .text-truncate:first-child")).toEqual(["page 2999"]);
    await edit("page nowhere");
    await settle();
    expect(".o_ai_chat_resources [role=status]").toHaveText("No results.");
});

test("the arrow at the end of the list shows more", async () => {
    server.resources.resources = Array.from({ length: 60 }, (_, i) => resource(`page ${i}`));
    await openPicker();
    for (let i = 0; i < PAGE_SIZE; i++) {
        await press("ArrowDown");
    }
    await settle();
    expect("[role=option]").toHaveCount(60);
    expect("[aria-selected=true]").toHaveText(`page ${PAGE_SIZE}\nwiki://page ${PAGE_SIZE}`);
    expect(".o_ai_chat_resources input").toHaveAttribute(
        "aria-activedescendant",
        queryOne("[aria-selected=true]").id
    );
});

test("a template asks for its variables", async () => {
    const uri = "wiki://{page}{?lang}";
    server.resources.templates = [resource("pages", { uri, variables: ["page", "lang"] })];
    server.completions = ["home", "hobby"];
    await openPicker();
    await press("Enter");
    await settle();
    expect(".o_ai_chat_completed input:first").toBeFocused();
    expect(".o_ai_chat_completed input:first").toHaveAttribute("required");
    expect(".o_ai_chat_completed input:last").not.toHaveAttribute("required");
    await press("Escape");
    await settle();
    expect(".o_ai_chat_resources input").toBeFocused();
    await press("Enter");
    await settle();
    await edit("home");
    await press("Enter");
    await settle();
    const [{ body }] = server.requestsTo("/resources/attach");
    expect(body).toEqual({ server_id: 7, uri, name: "pages", arguments: { page: "home" } });
    expect(".o_ai_chat_chip").toHaveCount(1);
});

test("a slow server is waited for, and the person need not", async () => {
    const { promise, resolve } = Promise.withResolvers();
    server.interrupt("GET /api/ai/assistants/1/resources", promise);
    await openPicker();
    expect(".o_ai_chat_resources").toHaveAttribute("aria-busy", "true");
    expect(".o_ai_chat_resources [role=status]").toHaveText("Loading resources…");
    await press("Escape");
    await settle();
    expect(".o_ai_chat_resources").toHaveCount(0);
    expect(".o_ai_chat_input").toBeFocused();
    resolve(json({ resources: [resource("late")], templates: [], problems: [] }));
    await reopenPicker();
    expect("[role=option]").toHaveCount(2);
});

test("what a server cannot do is a sentence, and the others go on", async () => {
    const problem = { server: { id: 8, name: "down" }, code: "x", message: "It is asleep." };
    server.resources.problems = [problem];
    await openPicker();
    expect(".o_ai_chat_resource_problem").toHaveText("down: It is asleep.");
    server.interrupt("/resources/attach", refusal(415, "unsupported_file", "This is a program."));
    await press("Enter");
    await settle();
    expect(".o_ai_chat_resources [role=alert]").toHaveText("This is a program.");
    expect(".o_ai_chat_chip").toHaveCount(0);
    await press("Enter");
    await settle();
    expect(".o_ai_chat_chip").toHaveCount(1);
});

test("at most ten files go with one message", async () => {
    await openPicker();
    for (let i = 0; i < 10; i++) {
        await press("Enter");
        await settle();
        await reopenPicker();
    }
    await press("Enter");
    await settle();
    expect(".o_ai_chat_chip").toHaveCount(10);
    expect(server.requestsTo("/resources/attach")).toHaveLength(10);
    expect(".o_ai_chat_files_error").toHaveText("You can attach up to 10 files at once.");
});

test("parts that were not attached are told", async () => {
    await openPicker();
    const attached = server.attached.bind(server);
    server.attached = (body) => ({ ...attached(body), left_out: 2 });
    await press("Enter");
    await settle();
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["one"]);
    expect(".o_ai_chat_files_error").toHaveText(/were not attached \(2\)/);
});
