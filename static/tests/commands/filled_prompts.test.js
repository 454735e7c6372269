import { beforeEach, describe, expect, test } from "@odoo/hoot";
import { browser } from "@web/core/browser/browser";
import { FilledPrompts } from "@woow_paas_platform/commands/filled_prompts";

describe.current.tags("headless");

const TEXT = "Sum up the orders of this week.\n\nThank you";

beforeEach(() => browser.sessionStorage.clear());

test("a message that holds a line of a server's prompt is not the person's alone", () => {
    const prompts = new FilledPrompts();
    expect(prompts.serverOf(TEXT)).toBe(undefined);
    prompts.add("shop", TEXT);
    expect(prompts.serverOf(`Please:\n  ${TEXT.split("\n")[0]}  \nSoon`)).toBe("shop");
    expect(prompts.serverOf("Thank you")).toBe(undefined);
    expect(prompts.serverOf("Sum up the orders")).toBe(undefined);
});

test("the tab keeps the latest ones", () => {
    const prompts = new FilledPrompts();
    for (let number = 0; number < 12; number++) {
        prompts.add(`server ${number}`, `The text of prompt ${number} ends`);
    }
    const reloaded = new FilledPrompts();
    expect(reloaded.serverOf("The text of prompt 1 ends")).toBe(undefined);
    expect(reloaded.serverOf("The text of prompt 11 ends")).toBe("server 11");
});
