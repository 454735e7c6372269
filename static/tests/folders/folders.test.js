import {
    animationFrame,
    beforeEach,
    click,
    Deferred,
    describe,
    edit,
    expect,
    queryAllTexts,
    setInputFiles,
    test,
} from "@odoo/hoot";
import { assets } from "@web/core/assets";
import { getService, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ask, mountChat, setVisibility, settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

const RECORD = { model: "res.partner", id: 4, name: "Azure" };
const LINE = ".o_ai_chat_folder_line";

/** @type {FakeServer} */
let server;
beforeEach(() => {
    sessionStorage.clear();
    server = new FakeServer();
    patchWithCleanup(assets, { loadBundle: async () => {} }); // the dialog is here already
});

async function openDialog() {
    await click(".o_ai_chat_folders li [aria-haspopup]");
    await animationFrame();
    await click("[role=menuitem]:contains(Instructions and files)");
    await settle();
}

async function attach(...names) {
    await click(".modal .o_ai_chat_folder_attach");
    await setInputFiles(names.map((name) => new File(["x"], name)));
    await settle();
}

test("instructions and files are kept, and the chats of the folder say so", async () => {
    const folder = server.folder("Drinks");
    const tea = server.conversation({ name: "Tea", folder_id: folder.id });
    await mountChat({ conversationId: tea.id });
    expect(LINE).toHaveCount(0);
    await openDialog();
    await click(".modal textarea");
    await edit("Only green tea.");
    await attach("prices.csv");
    await click(".modal .btn-primary");
    await settle();
    expect(".modal").toHaveCount(0);
    expect(folder.instructions).toBe("Only green tea.");
    expect(folder.files.map(({ name }) => name)).toEqual(["prices.csv"]);
    expect(LINE).toHaveText("Folder “Drinks” applies: instructions · 1 file");
    await click(LINE);
    await settle();
    expect(".modal textarea").toHaveValue("Only green tea.");
    await click(".modal [aria-label='Remove prices.csv']");
    await animationFrame();
    await attach("menu.txt");
    await click(".modal .btn-primary");
    await settle();
    expect(folder.files.map(({ name }) => name)).toEqual(["menu.txt"]);
});

test("no more files are taken than the folder may have", async () => {
    const folder = server.folder("Drinks");
    ["a.txt", "b.txt"].forEach((file) => server.keep({ file }));
    folder.files = server.unsent.splice(0);
    await mountChat();
    await openDialog();
    await attach("c.txt", "d.txt", "e.txt", "f.txt");
    expect(".modal .o_ai_chat_chip").toHaveCount(5);
    expect(".modal [role=alert]").toHaveText("A folder can have at most 5 files.");
});

test("a dialog that cannot be loaded says so", async () => {
    server.folder("Drinks");
    patchWithCleanup(assets, { loadBundle: async () => Promise.reject(new Error("offline")) });
    await mountChat();
    await openDialog();
    expect(".modal").toHaveCount(0);
    expect(".o_notification").toHaveText(/The server cannot be reached/);
});

test("what is not saved leaves nothing behind", async () => {
    const folder = server.folder("Drinks");
    await mountChat();
    await openDialog();
    await attach("prices.csv");
    await click(".modal .btn-secondary");
    await settle();
    expect(folder.files).toEqual([]);
    expect(server.requestsTo("DELETE /api/ai/attachments/")).toHaveLength(1);
    expect(".o_ai_chat_chip").toHaveCount(0);
});

test("a dialog that is closed while a file is on its way saves nothing", async () => {
    const folder = server.folder("Drinks");
    await mountChat();
    await openDialog();
    server.interrupt("POST /api/ai/attachments", new Deferred());
    await click(".modal textarea");
    await edit("Only green tea.");
    await attach("prices.csv");
    await click(".modal .btn-primary");
    await settle();
    await click(".modal .btn-secondary");
    await settle();
    expect(".modal").toHaveCount(0);
    expect(folder.instructions).toBe("");
    expect(server.requestsTo("PATCH")).toHaveLength(0);
});

test("a chat that is opened about another record is in no folder", async () => {
    const folder = Object.assign(server.folder("Azure"), { record: RECORD });
    await mountChat();
    const chat = getService("ai_chat");
    await chat.showPlace(folder.id);
    expect(chat.record).toEqual(RECORD);
    const order = { model: "sale.order", id: 42, name: "S00042" };
    await mountChat({ newChat: { record: order } });
    expect([chat.record, chat.list.place]).toEqual([order, null]);
});

test("a temporary chat stays one in every folder, and no folder holds for it", async () => {
    Object.assign(server.folder("Azure"), { record: RECORD, instructions: "Only tea." });
    await mountChat();
    await click("#o_ai_chat_temporary");
    await click(".o_ai_chat_folder");
    await settle();
    expect("#o_ai_chat_temporary").toBeChecked();
    expect(LINE).toHaveCount(0);
    await click("#o_ai_chat_temporary");
    await settle();
    expect(LINE).toHaveCount(1);
});

test("a conversation that is moved goes by its new folder", async () => {
    const folder = Object.assign(server.folder("Drinks"), { instructions: "Only tea." });
    const tea = server.conversation({ name: "Tea", folder_id: folder.id });
    await mountChat({ conversationId: tea.id });
    expect(LINE).toHaveCount(1);
    await click(".o_ai_chat_folder");
    await settle();
    await click(".o_ai_chat_row_tools [aria-haspopup]");
    await animationFrame();
    await click("[role=menuitem]:contains(Move to folder)");
    await settle();
    await click(".modal .btn-light:contains(No folder)");
    await settle();
    expect(LINE).toHaveCount(0);
});

test("a folder about the record of a new chat is made there, and opened from then on", async () => {
    await mountChat({ newChat: { record: RECORD } });
    expect(".o_ai_chat_folder_about").toHaveText("New folder about this record");
    await click(".o_ai_chat_folder_about");
    await settle();
    expect(server.folders.map(({ name, record }) => [name, record])).toEqual([["Azure", RECORD]]);
    expect(".o_ai_chat_place h2").toHaveText("Azure");
    expect(LINE).toHaveText("In folder “Azure”");
    await click(".o_ai_chat_leave");
    await settle();
    expect(".o_ai_chat_folder_about").toHaveText("Open folder “Azure”");
});

test("a chat that is begun in a folder is about its record", async () => {
    const folder = Object.assign(server.folder("Drinks"), { record: RECORD });
    await mountChat();
    expect(".o_ai_chat_about").toHaveCount(0);
    await click(".o_ai_chat_folder");
    await settle();
    expect(".o_ai_chat_about").toHaveText(/This chat is about Azure/);
    await ask("What is open?");
    const { body } = server.requestsTo("POST /api/ai/conversations").at(0);
    expect(body).toEqual({
        assistant_id: 1,
        folder_id: folder.id,
        res_model: RECORD.model,
        res_id: RECORD.id,
    });
});

test("a new chat outside of the folder is about nothing", async () => {
    Object.assign(server.folder("Drinks"), { record: RECORD });
    await mountChat();
    await click(".o_ai_chat_folder");
    await settle();
    await click(".o_ai_chat_leave");
    await settle();
    expect(".o_ai_chat_about").toHaveCount(0);
});

test("the record on the screen becomes that of a folder, and no longer", async () => {
    const folder = server.folder("Drinks");
    await mountChat({ newChat: { record: RECORD } });
    await openDialog();
    await click(".o_ai_chat_folder_offer");
    await animationFrame();
    expect(".o_ai_chat_folder_record").toHaveText(/about “Azure”/);
    await click(".modal .btn-primary");
    await settle();
    expect(folder.record).toEqual(RECORD);
    await openDialog();
    await click(".o_ai_chat_folder_record button");
    await animationFrame();
    await click(".modal .btn-primary");
    await settle();
    expect(folder.record).toBe(null);
});

test("a folder that was deleted elsewhere is left", async () => {
    server.folder("Drinks");
    server.conversation({ name: "Tea" });
    await mountChat();
    await click(".o_ai_chat_folder");
    await settle();
    expect(".o_ai_chat_place h2").toHaveText("Drinks");
    server.folders = [];
    setVisibility("visible");
    await settle();
    expect(".o_ai_chat_place").toHaveCount(0);
    expect(".o_ai_chat_conversation").toHaveCount(1);
});

test("where no record is on the screen the dialog says how to choose one", async () => {
    server.folder("Drinks");
    await mountChat({ onPost: () => {} });
    await openDialog();
    expect(".o_ai_chat_folder_dialog").toHaveText(/open the chat beside its form/);
    expect(".o_ai_chat_folder_offer").toHaveCount(0);
});

test("a folder with an answer that nobody has seen is marked", async () => {
    Object.assign(server.folder("Drinks"), { unseen: true });
    server.folder("Food");
    await mountChat();
    expect(queryAllTexts(".o_ai_chat_folder:has(.o_ai_chat_unread)")).toEqual([
        "New answer\nDrinks",
    ]);
});
