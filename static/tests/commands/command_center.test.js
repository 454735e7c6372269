import { describe, expect, test } from "@odoo/hoot";
import { CommandCenter } from "@woow_paas_platform/commands/command_center";

describe.current.tags("headless");

const prompt = (name) => ({ server: { id: 1, name: "shop" }, name, arguments: [] });

/** A chat of one conversation whose server answers what the test gives, in the order it is asked. */
function chatOf(...answers) {
    return {
        chatRef: { conversationId: 7 },
        loadedRef: async () => ({ conversationId: 7 }),
        resources: { dismiss() {} },
        servers: {
            canReload: true,
            chosenIds: null,
            load: async () => {},
        },
        api: {
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
