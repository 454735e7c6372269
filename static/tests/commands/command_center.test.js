import { describe, expect, test } from "@odoo/hoot";
import { CommandCenter } from "@woow_paas_platform/commands/command_center";

describe.current.tags("headless");

const prompt = (name) => ({ server: { id: 1, name: "shop" }, name, arguments: [] });

const SAVED = [
    {
        id: 3,
        name: "report",
        content: "Report on {month}.\nShort.",
        fields: ["month"],
        workspace: null,
    },
    { id: 4, name: "tea", content: "Tea?", fields: [], workspace: { id: 1, name: "ACME" } },
];

/** A chat of one conversation whose server answers what the test gives, in the order it is asked. */
function chatOf(...answers) {
    return {
        currentId: 7,
        chatRef: { conversationId: 7 },
        loadedRef: async () => ({ conversationId: 7 }),
        resources: { dismiss() {} },
        servers: {
            canReload: true,
            chosenIds: null,
            load: async () => {},
        },
        addToDraft: (text) => expect.step(text),
        files: {
            addSent: (id, name, { attachments, left_out }) =>
                expect.step(`${id} ${name} ${attachments.map((file) => file.id)} ${left_out}`),
        },
        api: {
            savedPrompts: async () => ({ prompts: SAVED }),
            fillPrompt: async (id, fields) => `${id} ${JSON.stringify(fields)}`,
            prompts: async () => {
                expect.step("prompts");
                return answers.shift()();
            },
            command: async (_place, name, serverIds) => {
                expect.step(`${name} ${serverIds}`);
                return { title: name, rows: [] };
            },
        },
    };
}

const offered = (commands) => commands.matching("/shop").map(({ name }) => name);

test("prompts are asked for once", async () => {
    const commands = new CommandCenter(chatOf(() => ({ prompts: [prompt("offer")] })));
    await Promise.all([commands.loadPrompts(), commands.loadPrompts()]);
    await commands.loadPrompts();
    expect.verifySteps(["prompts"]);
    expect(offered(commands)).toEqual(["/shop:offer"]);
});

test("a failure is not remembered", async () => {
    const fail = () => {
        throw new Error("away");
    };
    const commands = new CommandCenter(chatOf(fail, () => ({ prompts: [prompt("offer")] })));
    await commands.loadPrompts();
    expect(offered(commands)).toEqual([]);
    await commands.loadPrompts();
    expect(offered(commands)).toEqual(["/shop:offer"]);
    expect.verifySteps(["prompts", "prompts"]);
});

test("/mcp reload reads them again and offers the old ones meanwhile", async () => {
    const { promise, resolve } = Promise.withResolvers();
    const commands = new CommandCenter(
        chatOf(
            () => ({ prompts: [prompt("offer")] }),
            () => promise
        )
    );
    await commands.loadPrompts();
    await commands.run({ name: "/mcp reload" });
    expect.verifySteps(["prompts", "/mcp reload null", "prompts"]);
    expect(offered(commands)).toEqual(["/shop:offer"]);
    resolve({ prompts: [prompt("offer"), prompt("refund")] });
    await promise;
    await Promise.resolve();
    expect(offered(commands)).toEqual(["/shop:offer", "/shop:refund"]);
});

test("/mcp reload is offered to those who may reload something", () => {
    const chat = chatOf();
    const commands = new CommandCenter(chat);
    expect(commands.matching("/mcp r").length).toBe(1);
    chat.servers.canReload = false;
    expect(commands.matching("/mcp r").length).toBe(0);
});

test("saved prompts stand beside those of servers, and ask for their fields", async () => {
    const commands = new CommandCenter(chatOf(() => ({ prompts: [prompt("offer")] })));
    await commands.loadPrompts();
    const saved = commands.matching("/").slice(-3, -1);
    expect(saved.map(({ name, about }) => [name, about])).toEqual([
        ["/report", "Report on {month}."],
        ["/tea", "ACME · Tea?"],
    ]);
    await commands.run(commands.find("/report"));
    expect(commands.prompt.arguments).toEqual([{ name: "month", required: true }]);
    expect(await commands.complete(commands.prompt, "month", "M", {})).toEqual([]);
    await commands.fill(commands.prompt, { month: "May" });
    expect(commands.prompt).toBe(null);
    await commands.run(commands.find("/TEA"));
    expect.verifySteps(["prompts", '3 {"month":"May"}', "4 {}"]);
});

test("a prompt of a server fills the draft, and its files wait beside it", async () => {
    const message = (text, ...ids) => ({ text, attachments: ids.map((id) => ({ id })) });
    const chat = chatOf(() => ({ prompts: [prompt("offer")] }));
    const commands = new CommandCenter(chat);
    await commands.loadPrompts();
    chat.api.getPrompt = async () => ({
        messages: [message("Look:", 4), message("", 5, 6), message("What is it?")],
        left_out: 1,
    });
    await commands.run(commands.find("/shop:offer"));
    chat.api.getPrompt = async () => ({ messages: [message("", 7)], left_out: 0 });
    await commands.run(commands.find("/shop:offer"));
    expect.verifySteps([
        "prompts",
        "Look:\n\nWhat is it?",
        "7 offer 4,5,6 1",
        "7 offer 7 0", // no empty draft
    ]);
});

test("saved prompts are there though no server answers", async () => {
    const commands = new CommandCenter(chatOf(() => Promise.reject(new Error("away"))));
    await commands.loadPrompts();
    expect(commands.matching("/te").map(({ name }) => name)).toEqual(["/tea"]);
    expect.verifySteps(["prompts"]);
});

test("prompts of another tab are offered, also after a failure", async () => {
    const chat = chatOf(() => ({ prompts: [] }));
    const { savedPrompts } = chat.api;
    chat.api.savedPrompts = async () => Promise.reject(new Error("away"));
    const commands = new CommandCenter(chat);
    await commands.refresh();
    await commands.loadPrompts();
    expect(commands.matching("/te")).toHaveLength(0);
    chat.api.savedPrompts = savedPrompts;
    chat.api.prompts = async () => ({ prompts: [] });
    await commands.loadPrompts();
    expect(commands.matching("/te")).toHaveLength(1);
    chat.api.savedPrompts = async () => ({ prompts: [] });
    await commands.refresh();
    expect(commands.matching("/te")).toHaveLength(0);
    expect.verifySteps(["prompts"]);
});

test("the answer for another chat is dropped", async () => {
    const { promise, resolve } = Promise.withResolvers();
    const chat = chatOf(() => ({ prompts: [] }));
    chat.api.fillPrompt = () => promise;
    const commands = new CommandCenter(chat);
    await commands.loadPrompts();
    const filled = commands.run(commands.find("/tea"));
    chat.currentId = 8;
    resolve("Tea?");
    await filled;
    expect.verifySteps(["prompts"]);
});

test("a prompt that is kept is offered at once", async () => {
    const chat = chatOf(() => ({ prompts: [] }));
    chat.api.addPrompt = async (values) => expect.step(values.name);
    const commands = new CommandCenter(chat);
    await commands.savePrompt({ name: "tea", content: "Tea?" });
    expect.verifySteps(["tea"]);
    expect(commands.matching("/tea")).toHaveLength(1);
});

test("what a command answers for another chat is dropped, also its failure", async () => {
    for (const settleIt of ["resolve", "reject"]) {
        const answered = Promise.withResolvers();
        const chat = chatOf();
        chat.api.command = () => answered.promise;
        const commands = new CommandCenter(chat);
        const ran = commands.run({ name: "/mcp tools" });
        await Promise.resolve();
        chat.currentId = 8;
        answered[settleIt](settleIt === "reject" ? new Error("late") : { title: "", rows: [] });
        await ran;
        expect([commands.answer, commands.error]).toEqual([null, null]);
    }
});
