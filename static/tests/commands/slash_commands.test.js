import { describe, expect, test } from "@odoo/hoot";
import {
    commandName,
    commandOf,
    matchingCommands,
    promptCommand,
    savedCommands,
} from "@woow_paas_platform/commands/slash_commands";

describe.current.tags("headless");

const PROMPT = {
    server: { id: 1, name: "my docs" },
    name: "sum up",
    title: "Sum up",
    arguments: [],
};
const COMMANDS = [
    { name: "/mcp" },
    { name: "/mcp tools" },
    { name: "/help" },
    promptCommand(PROMPT),
];
const names = (text) => matchingCommands(COMMANDS, text).map(({ name }) => name);

test("a beginning offers what it may become", () => {
    expect(names("/")).toEqual(["/mcp", "/mcp tools", "/help", "/my_docs:sum_up"]);
    expect(names("/MCP")).toEqual(["/mcp", "/mcp tools"]);
    expect(names("/mcp t")).toEqual(["/mcp tools"]);
    expect(names("/my_docs:")).toEqual(["/my_docs:sum_up"]);
});

test("a text is no command", () => {
    for (const text of ["", "a /mcp", "/mcp\nand", "/usr/bin", " /mcp"]) {
        expect(names(text)).toEqual([]);
    }
});

test("a whole name is the command", () => {
    expect(commandOf(COMMANDS, "/mcp ").name).toBe("/mcp");
    expect(commandOf(COMMANDS, "/my_docs:sum_up").prompt).toBe(PROMPT);
    expect(commandOf(COMMANDS, "/mc")).toBe(undefined);
});

test("words go to the command that takes some", () => {
    const commands = [...COMMANDS, { name: "/compact", about: "", takesWords: true }];
    expect(commandOf(commands, "/compact").words).toBe(undefined);
    expect(commandOf(commands, "/Compact Keep the ids").words).toBe("Keep the ids");
    expect(commandOf(commands, "/help me")).toBe(undefined);
    expect(commandOf(commands, "/compacted")).toBe(undefined);
});

test("what looks like a command is told from a path and from a sentence", () => {
    expect(commandName("/nonsense")).toBe("/nonsense");
    expect(commandName("/mcp tool")).toBe("/mcp");
    expect(commandName("/報價")).toBe("/報價");
    for (const text of ["/etc/hosts", " /mcp", "a /mcp", "/", "/what?"]) {
        expect(commandName(text)).toBe("");
    }
});

test("of two saved prompts with one name the later one is typed with its workspace", () => {
    const prompt = { content: "Tea?\nNow?", fields: [] };
    const prompts = [
        { ...prompt, id: 1, name: "Tea", workspace: null },
        { ...prompt, id: 2, name: "tea", workspace: { id: 1, name: "ACME Ltd" } },
    ];
    expect(savedCommands(prompts).map(({ name, about }) => [name, about])).toEqual([
        ["/Tea", "Tea?"],
        ["/ACME_Ltd:tea", "ACME Ltd · Tea?"],
    ]);
});
