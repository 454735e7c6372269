import {
    animationFrame,
    beforeEach,
    click,
    Deferred,
    describe,
    edit,
    expect,
    press,
    queryAllTexts,
    queryOne,
    test,
} from "@odoo/hoot";
import { getService } from "@web/../tests/web_test_helpers";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { AiChatStore } from "@woow_paas_platform/ai_chat/ai_chat_service";
import { AiApi } from "@woow_paas_platform/core/ai_api";
import { mountChat, settle } from "../ai_chat_test_helpers";
import { json, refusal } from "../fake_responses";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const UPLOAD = "POST /api/ai/attachments";
const PDF = "application/pdf";
/** @type {FakeServer} */
let server;
let conversation;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
    conversation = server.conversation();
});

async function choose(...names) {
    const data = new DataTransfer();
    for (const name of names) {
        data.items.add(new File(["a".repeat(2048)], name));
    }
    const input = queryOne(".o_ai_chat_file_input");
    input.files = data.files;
    input.dispatchEvent(new Event("change"));
    await settle();
}

async function paste(text, { html = "", file = "" } = {}) {
    const data = new DataTransfer();
    text && data.setData("text/plain", text);
    html && data.setData("text/html", html);
    file && data.items.add(new File(["a"], file, { type: "image/png" }));
    const options = { bubbles: true, cancelable: true, clipboardData: data };
    const isTaken = !queryOne(".o_ai_chat_input").dispatchEvent(
        new ClipboardEvent("paste", options)
    );
    await settle();
    return isTaken;
}

function kept(name) {
    const counted = { size: 2048, pages: 0, pages_read: 0, characters: 9, token_estimate: 3 };
    return { id: 99, name, mimetype: "text/plain", url: "/api/ai/attachments/99", ...counted };
}

test("a long text becomes a file, pasted or written", async () => {
    await mountChat({ conversationId: conversation.id });
    expect(await paste("字".repeat(10_000))).toBe(false);
    expect(await paste("字".repeat(10_001))).toBe(true);
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["Pasted text.txt"]);
    const input = queryOne(".o_ai_chat_input");
    input.value = "a".repeat(32_001); // typing it letter by letter takes its time
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await press("Enter");
    await settle();
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["Pasted text.txt", "Pasted text.txt"]);
    expect(".o_ai_chat_input").toHaveValue("");
    expect(".o_ai_chat_bubble").toHaveCount(0);
});

test("cells are pasted as text, a picture as a file", async () => {
    await mountChat({ conversationId: conversation.id });
    const cells = { html: "<table><td>1</td></table>", file: "image.png" };
    expect(await paste("1", cells)).toBe(false);
    expect(".o_ai_chat_chip").toHaveCount(0);
    expect(await paste("", { html: "<img src='cat.png'>", file: "cat.png" })).toBe(true);
    expect(await paste("notes.png", { file: "notes.png" })).toBe(true);
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["cat.png", "notes.png"]);
});

/** @returns {Promise<boolean>} whether the page took it, rather than the browser */
async function drop(place) {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["a"], "notes.txt"));
    const options = { bubbles: true, cancelable: true, dataTransfer };
    const isTaken = !place.dispatchEvent(new DragEvent("drop", options));
    await settle();
    return isTaken;
}

test("a file is attached wherever on the chat it is dropped, and opened nowhere", async () => {
    await mountChat({ conversationId: conversation.id });
    expect(await drop(document.body)).toBe(true);
    expect(".o_ai_chat_chip").toHaveCount(0);
    const thread = queryOne(".o_ai_chat_scroll");
    thread.dispatchEvent(new DragEvent("dragstart", { bubbles: true }));
    expect(await drop(thread)).toBe(false, { message: "a picture of the page stays where it is" });
    expect(".o_ai_chat_chip").toHaveCount(0);
    thread.dispatchEvent(new DragEvent("dragend", { bubbles: true }));
    expect(await drop(thread)).toBe(true);
    expect(".o_ai_chat_chip_name").toHaveText("notes.txt");
});

test("a text that cannot become a file stays where it was written", async () => {
    await mountChat({ conversationId: conversation.id });
    server.interrupt(UPLOAD, refusal(422, "storage_full", "There is no more room."));
    const input = queryOne(".o_ai_chat_input");
    input.value = "a".repeat(32_001);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await press("Enter");
    await press("Enter");
    await settle();
    expect(server.requestsTo(UPLOAD)).toHaveLength(1);
    expect(".o_ai_chat_chip").toHaveCount(0);
    expect(".o_ai_chat_files_error").toHaveText(/There is no more room\./);
    expect(".o_ai_chat_input").toHaveValue("a".repeat(32_001));
});

test("a long text leaves the composer of its conversation, whatever is on the screen", async () => {
    const other = server.conversation({ name: "Other" });
    await mountChat({ conversationId: conversation.id });
    const answer = new Deferred();
    server.interrupt(UPLOAD, answer);
    const input = queryOne(".o_ai_chat_input");
    input.value = "a".repeat(32_001);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await press("Enter");
    const chat = getService("ai_chat");
    await chat.open(other.id);
    answer.resolve(json(kept("Pasted text.txt"), 201));
    await settle();
    expect(".o_ai_chat_input").toHaveValue("");
    await chat.open(conversation.id);
    await settle();
    expect(".o_ai_chat_input").toHaveValue("");
    expect(".o_ai_chat_chip").toHaveCount(1);
});

test("a file is sent when it is chosen, and shown with its pages and its size", async () => {
    server.documents = {
        "one.pdf": { mimetype: PDF, pages: 1, pages_read: 1 },
        "long.pdf": { mimetype: PDF, pages: 200, pages_read: 7 },
        "cat.png": { mimetype: "image/png" },
    };
    await mountChat({ conversationId: conversation.id });
    await choose("one.pdf", "long.pdf", "cat.png");
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["one.pdf", "long.pdf", "cat.png"]);
    expect(queryAllTexts(".o_ai_chat_chip_facts")).toEqual([
        "1 page · 2 kB",
        "first 7 of 200 pages · 2 kB",
        "2 kB",
    ]);
    expect(".o_ai_chat_chip img").toHaveCount(1);
    expect(server.requestsTo(UPLOAD)).toHaveLength(3);
    expect("[role=status]:contains(“cat.png” is attached.)").toHaveCount(1);
});

test("what the server refuses goes with its reason, and nothing else is lost", async () => {
    await mountChat({ conversationId: conversation.id });
    await choose("notes.txt");
    await click(".o_ai_chat_input");
    await edit("Look");
    server.interrupt(UPLOAD, refusal(422, "file_encrypted", "The file is protected."));
    await choose("locked.pdf");
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["notes.txt"]);
    expect(".o_ai_chat_files_error").toHaveText(
        "“locked.pdf” was not attached. The file is protected."
    );
    expect(".o_ai_chat_input").toHaveValue("Look");
    expect(server.requestsTo("/messages")).toHaveLength(0);
});

test("of several files each that is refused is named", async () => {
    await mountChat({ conversationId: conversation.id });
    server.interrupt(UPLOAD, refusal(422, "empty_file", "The file is empty."));
    server.interrupt(UPLOAD, refusal(422, "file_encrypted", "The file is protected."));
    await choose("empty.txt", "locked.pdf", "notes.txt");
    expect(queryAllTexts(".o_ai_chat_chip_name")).toEqual(["notes.txt"]);
    expect(".o_ai_chat_files_error").toHaveText(
        "“empty.txt” was not attached. The file is empty.\n" +
            "“locked.pdf” was not attached. The file is protected."
    );
    await choose("more.txt");
    expect(".o_ai_chat_files_error").toHaveCount(0);
});

test("a file that did not arrive can be sent again", async () => {
    await mountChat({ conversationId: conversation.id });
    server.interrupt(UPLOAD, new TypeError("Failed to fetch"));
    await choose("notes.txt");
    expect(".o_ai_chat_chip[data-state=failed]").toHaveCount(1);
    await click(".o_ai_chat_chip_retry");
    await settle();
    expect(".o_ai_chat_chip[data-state=kept]").toHaveCount(1);
    expect(".o_ai_chat_files_error").toHaveCount(0);
});

test("a message waits for its files", async () => {
    const answer = new Deferred();
    server.interrupt(UPLOAD, answer);
    await mountChat({ conversationId: conversation.id });
    await choose("notes.txt");
    expect(".o_ai_chat_chip progress").toHaveCount(1);
    expect(".o_ai_chat_chip_facts").toHaveText("Reading…");
    await press("Enter");
    await press("Enter");
    await settle();
    expect(server.requestsTo("/messages")).toHaveLength(0);
    answer.resolve(json(kept("notes.txt"), 201));
    await settle();
    const [{ body }, ...more] = server.requestsTo("/messages");
    expect(body.attachment_ids).toEqual([99]);
    expect(more).toEqual([]);
    expect(".o_ai_chat_chip").toHaveCount(0);
});

test("what is taken away goes from the server, too", async () => {
    await mountChat({ conversationId: conversation.id });
    await choose("notes.txt");
    await click(".o_ai_chat_chip button[aria-label='Remove notes.txt']");
    await settle();
    expect(".o_ai_chat_chip").toHaveCount(0);
    expect(server.requestsTo("DELETE /api/ai/attachments/")).toHaveLength(1);
});

test("files of a draft survive a reload, and go with the message", async () => {
    await mountChat({ conversationId: conversation.id });
    await choose("notes.txt");
    const page = new AiChatStore(new AiApi());
    expect(page.files.of(conversation.id).map(({ name }) => name)).toEqual(["notes.txt"]);
    expect(page.files.isReady(conversation.id)).toBe(true);
    page.files.take(conversation.id);
    expect(new AiChatStore(new AiApi()).files.of(conversation.id)).toEqual([]);
});

test("the file dialog lists what is taken", async () => {
    await mountChat({ conversationId: conversation.id });
    await animationFrame();
    const accepted = queryOne(".o_ai_chat_file_input").accept;
    for (const kind of ["image/png", "application/pdf", ".docx", ".pptx", ".xlsx", "text/*"]) {
        expect(accepted.split(",")).toInclude(kind);
    }
});

test("what was refused is told where it was attached, and nowhere else", async () => {
    const other = server.conversation({ name: "Other" });
    await mountChat({ conversationId: conversation.id });
    server.interrupt(UPLOAD, refusal(422, "empty_file", "The file is empty."));
    await choose("empty.txt");
    expect(".o_ai_chat_files_error").toHaveText(/The file is empty/);
    await click(`[data-conversation-id='${other.id}']`);
    await settle();
    expect(".o_ai_chat_files_error").toHaveCount(0);
});
