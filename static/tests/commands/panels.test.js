import { beforeEach, click, describe, expect, press, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { ask, mountChat, settle } from "../ai_chat_test_helpers";
import { FakeServer } from "../fake_server";

describe.current.tags("desktop");
defineMailModels();

beforeEach(async () => {
    sessionStorage.clear();
    new FakeServer();
    await mountChat();
    await ask("/help");
    expect(".o_ai_chat_command_rows").toHaveCount(1);
});

test("what a command shows goes with the next message", async () => {
    await ask("Hi");
    expect(".o_ai_chat_command_rows").toHaveCount(0);
});

test("who closes it goes on writing", async () => {
    await click(".o_ai_chat_command .btn-close");
    await settle();
    expect(".o_ai_chat_command").toHaveCount(0);
    expect(".o_ai_chat_input").toBeFocused();
});

test("one panel at a time stands above the composer", async () => {
    await click(".o_ai_chat_attach button");
    await settle();
    await press("ArrowDown");
    await press("Enter");
    await settle();
    expect(".o_ai_chat_resources").toHaveCount(1);
    expect(".o_ai_chat_command:not(.o_ai_chat_resources)").toHaveCount(0);
    await ask("/help");
    expect(".o_ai_chat_resources").toHaveCount(0);
    expect(".o_ai_chat_command").toHaveCount(1);
});
