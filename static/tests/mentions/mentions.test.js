import {
    advanceTime,
    beforeEach,
    click,
    describe,
    edit,
    expect,
    press,
    queryAllTexts,
    queryOne,
    test,
} from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mentionAt, withMention } from "@woow_paas_platform/mentions/mention_text";
import { SEARCH_DELAY } from "@woow_paas_platform/mentions/mention_center";
import { mountChat, settle } from "../ai_chat_test_helpers";
import { refusal } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const AZURE = {
    model: "res.partner",
    id: 14,
    name: "Azure Interior",
    label: "Contact",
    image: "/web/image/res.partner/14/avatar_128",
};
const LEAD = { model: "crm.lead", id: 3, name: "Azure offices", label: "Lead", image: null };

/** @type {FakeServer} */
let server;
let conversation;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
    server.records = [AZURE, LEAD];
    conversation = server.conversation();
});

async function write(text) {
    await click(".o_ai_chat_input");
    await edit(text);
    await advanceTime(SEARCH_DELAY);
    await settle();
}

function draft() {
    return queryOne(".o_ai_chat_input").value;
}

test("a sign and letters are looked for, an address is not", () => {
    expect(mentionAt("about @Azu", 10)).toEqual({ start: 6, query: "Azu" });
    expect(mentionAt("about @Azure Int", 16)).toEqual({ start: 6, query: "Azure Int" });
    expect(mentionAt("請問@王小", 5)).toEqual({ start: 2, query: "王小" });
    expect(mentionAt("@Azu and more", 4)).toEqual({ start: 0, query: "Azu" });
    for (const text of [
        "me@example.com",
        "at @ noon",
        "@",
        "@a\nb",
        "@one two three four five six",
    ]) {
        expect(mentionAt(text, text.length)).toBe(null);
    }
    const place = { start: 6 };
    const written = withMention("about @Azu, now", place, 10, AZURE);
    expect(written.text).toBe("about @Azure Interior , now");
    expect(written.text.slice(0, written.caret)).toBe("about @Azure Interior ");
});

test("the keyboard chooses what is attached, and it is sent", async () => {
    await mountChat({ conversationId: conversation.id });
    await write("What of @az");
    expect(queryAllTexts(".o_ai_chat_mentions [role=option] strong")).toEqual([
        "Azure Interior",
        "Azure offices",
    ]);
    const input = queryOne(".o_ai_chat_input");
    expect(input).toHaveAttribute("role", "combobox");
    expect(input).toHaveAttribute("aria-expanded", "true");
    await press("ArrowDown");
    await settle();
    const active = document.getElementById(input.getAttribute("aria-activedescendant"));
    expect(active).toHaveAttribute("aria-selected", "true");
    expect(active).toHaveText(/Azure offices/);
    await press("ArrowUp");
    await press("Enter");
    await settle();
    expect(draft()).toBe("What of @Azure Interior ");
    expect(".o_ai_chat_mentions").toHaveCount(0);
    expect(".o_ai_chat_mentioned li").toHaveText("Azure Interior");
    expect(conversation.messages).toHaveLength(0);
    await press("Enter");
    await settle();
    const [{ body }] = server.requestsTo("/messages");
    expect(body.records).toEqual([{ model: "res.partner", id: 14 }]);
    expect(".o_ai_chat_message_user .o_ai_chat_mentioned li").toHaveText("Azure Interior");
    expect(".o_ai_chat_foot .o_ai_chat_mentioned").toHaveCount(0);
});

test("Escape leaves the text as it is, and Enter sends it", async () => {
    await mountChat({ conversationId: conversation.id });
    await write("ask @azure");
    await press("Escape");
    await settle();
    expect(".o_ai_chat_mentions").toHaveCount(0);
    await press("Enter");
    await settle();
    const [{ body }] = server.requestsTo("/messages");
    expect(body.content).toBe("ask @azure");
    expect("records" in body).toBe(false);
});

test("what the text names no longer is not attached any more", async () => {
    await mountChat({ conversationId: conversation.id });
    await write("@azure i");
    await press("Enter");
    await settle();
    expect(".o_ai_chat_mentioned li").toHaveCount(1);
    await write("something else");
    expect(".o_ai_chat_mentioned").toHaveCount(0);
    await write("@azure i");
    await click(".o_ai_chat_mentions [role=option]");
    await settle();
    await click(".o_ai_chat_mentioned button");
    await settle();
    expect(draft()).toBe("Azure Interior ");
    expect(".o_ai_chat_mentioned").toHaveCount(0);
});

test("where nothing is found the server is not asked for every letter", async () => {
    await mountChat({ conversationId: conversation.id });
    await write("@zz");
    await write("@zzt");
    await write("@zzto");
    expect(server.requestsTo("/records")).toHaveLength(1);
    await write("@a");
    expect(".o_ai_chat_mentions [role=option]").toHaveCount(2);
});

test("a message that was refused gives its records back", async () => {
    server.interrupt("/messages", refusal(404, "record_not_found", "It is gone."));
    await mountChat({ conversationId: conversation.id });
    await write("@azure i");
    await press("Enter");
    await press("Enter");
    await settle();
    expect(".o_ai_chat_unsent").toHaveText(/It is gone/);
    await click(".o_ai_chat_edit");
    await settle();
    expect(draft()).toBe("@Azure Interior");
    expect(".o_ai_chat_foot .o_ai_chat_mentioned li").toHaveCount(1);
});

async function editQuestion(text, ...records) {
    const asked = server.message(conversation, "user", text);
    asked.records = records.map(({ model, id, name }) => ({
        model,
        id,
        name,
        url: `/odoo/${model}/${id}`,
    }));
    await mountChat({ conversationId: conversation.id });
    await click(".o_ai_chat_edit_question");
    await settle();
}

test("another wording of a question keeps its records", async () => {
    await editQuestion("Compare @Azure Interior", AZURE, LEAD);
    expect(".o_ai_chat_question_form .o_ai_chat_mentioned li").toHaveCount(2);
    await click(".o_ai_chat_mentioned li:last button");
    await click(".o_ai_chat_question_input");
    await edit("Compare it in one sentence");
    await press("Enter");
    await settle();
    const [{ body }] = server.requestsTo("/messages");
    expect(body.content).toBe("Compare it in one sentence");
    expect(body.records).toEqual([{ model: "res.partner", id: 14 }]);
});

test("the last record of a question can be removed from it", async () => {
    await editQuestion("What of @Azure Interior", AZURE);
    await click(".o_ai_chat_mentioned button");
    await settle();
    expect(".o_ai_chat_question_input").toHaveValue("What of Azure Interior");
    await click(".o_ai_chat_question_form [type=submit]");
    await settle();
    const [{ body }] = server.requestsTo("/messages");
    expect(body.records).toEqual([]);
});

test("a new chat takes them along", async () => {
    await mountChat();
    await write("@azure i");
    await press("Enter");
    await settle();
    await press("Enter");
    await settle();
    const [{ body }] = server.requestsTo("/messages");
    expect(body.records).toEqual([{ model: "res.partner", id: 14 }]);
});

test("what a record is called is text", async () => {
    server.records = [{ ...LEAD, name: "<img src=x onerror=alert(1)> azure" }];
    await mountChat({ conversationId: conversation.id });
    await write("@azure");
    expect(".o_ai_chat_mentions img").toHaveCount(0);
    await press("Enter");
    await settle();
    expect(".o_ai_chat_mentioned img").toHaveCount(0);
    expect(".o_ai_chat_mentioned li").toHaveText("<img src=x onerror=alert(1)> azure");
});
