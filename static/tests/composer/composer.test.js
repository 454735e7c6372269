import {
    animationFrame,
    click,
    Deferred,
    edit,
    expect,
    keyDown,
    microTick,
    press,
    queryOne,
    test,
} from "@odoo/hoot";
import { Component, useState, xml } from "@odoo/owl";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { Composer } from "@woow_paas_platform/composer/composer";

defineMailModels();

/** Owns the text, as the chat does. */
class Owner extends Component {
    static template = xml`
        <Composer owner="state" focusKey="state.focusKey" placeholder="'Say it'"
                  isDisabled="state.isDisabled" isBusy="state.isBusy"
                  isRunning="state.isRunning" isStopping="state.isStopping" commands="props.commands"
                  place="state.place"
                  onInput="(text) => state.draft = text"
                  onSend="(text) => props.onSend(text)" onStop="() => props.onStop()"/>`;
    static components = { Composer };
    static props = ["*"];

    setup() {
        this.state = useState({ draft: "", focusKey: 1, place: 1, ...this.props.state });
    }
}

async function mountComposer(state = {}, commands = undefined) {
    return mountWithCleanup(Owner, {
        props: {
            state,
            commands,
            onSend: (text) => expect.step(`send ${text}`),
            onStop: () => expect.step("stop"),
        },
    });
}

test("Enter sends", async () => {
    await mountComposer();
    expect(".o_ai_chat_input").toBeFocused();
    expect(".o_ai_chat_input").toHaveAttribute("placeholder", "Say it");
    await edit("Hello");
    await press("Enter");
    expect.verifySteps(["send Hello"]);
});

test("Shift-Enter does not", async () => {
    await mountComposer({ draft: "Hello" });
    const events = await press("Enter", { shiftKey: true });
    const keydown = events.find((ev) => ev.type === "keydown" && ev.key === "Enter");
    expect(keydown.defaultPrevented).toBe(false);
    expect.verifySteps([]);
});

test("the Enter that ends a composition does not", async () => {
    await mountComposer({ draft: "你好" });
    const input = queryOne(".o_ai_chat_input");
    for (const composing of [{ isComposing: true }, { keyCode: 229 }]) {
        input.dispatchEvent(
            new KeyboardEvent("keydown", { key: "Enter", bubbles: true, ...composing })
        );
    }
    expect.verifySteps([]);
    await keyDown("Enter");
    expect.verifySteps(["send 你好"]);
});

test("nothing to say, nothing to send", async () => {
    await mountComposer({ draft: "  \n " });
    expect(".o_ai_chat_send").not.toBeEnabled();
    await press("Enter");
    expect.verifySteps([]);
});

test("while a turn runs it can be stopped, and the next message be sent", async () => {
    const owner = await mountComposer({ draft: "", isRunning: true });
    expect(".o_ai_chat_send").toHaveCount(0);
    await press("Enter");
    expect.verifySteps([]);
    owner.state.draft = "next";
    await animationFrame();
    expect(".o_ai_chat_send").toHaveAttribute("aria-label", "Send after this answer");
    await press("Enter");
    expect.verifySteps(["send next"]);
    await click(".o_ai_chat_stop");
    expect.verifySteps(["stop"]);
    owner.state.isStopping = true;
    await animationFrame();
    expect(".o_ai_chat_stop").not.toBeEnabled();
});

test("a message on its way is not sent twice", async () => {
    await mountComposer({ draft: "once", isBusy: true });
    expect(".o_ai_chat_send").not.toBeEnabled();
    await press("Enter");
    expect.verifySteps([]);
});

test("what was entered while it was busy is sent once it is not", async () => {
    const owner = await mountComposer({ draft: "early", isBusy: true });
    await press("Enter");
    owner.state.isBusy = false;
    await animationFrame();
    expect.verifySteps(["send early"]);
    for (const isBusy of [true, false]) {
        owner.state.isBusy = isBusy;
        await animationFrame();
    }
    expect.verifySteps([]);
});

test("what was changed after it was entered is not sent by itself", async () => {
    const owner = await mountComposer({ draft: "early", isBusy: true });
    await press("Enter");
    await edit("early, but");
    owner.state.isBusy = false;
    await animationFrame();
    expect.verifySteps([]);
    expect(".o_ai_chat_input").toHaveValue("early, but");
});

test("what was entered in one conversation is not sent in another one", async () => {
    const owner = await mountComposer({ draft: "yes", isBusy: true });
    await press("Enter");
    Object.assign(owner.state, { place: 2, isBusy: false });
    await animationFrame();
    expect.verifySteps([]);
    expect(".o_ai_chat_input").toHaveValue("yes");
});

/** Commands of a chat whose prompts are still on their way. */
function slowCommands() {
    const loading = new Deferred();
    const commands = {
        place: "1",
        isUnsure: (text) => text.startsWith("/"),
        loadPrompts: () => loading,
        matching: () => [],
        find: () => null,
        refuses: () => false,
    };
    return { commands, loading };
}

test("what is typed while the prompts come is not sent by an earlier Enter", async () => {
    const { commands, loading } = slowCommands();
    await mountComposer({ draft: "/billing" }, commands);
    await press("Enter");
    await edit("/billing and more");
    loading.resolve();
    await animationFrame();
    expect.verifySteps([]);
    expect(".o_ai_chat_input").toHaveValue("/billing and more");
});

test("an Enter that waits for prompts sends nothing in another conversation", async () => {
    const { commands, loading } = slowCommands();
    const owner = await mountComposer({ draft: "/billing" }, commands);
    await press("Enter");
    owner.state.place = 2; // where the same is a draft
    await animationFrame();
    loading.resolve();
    await animationFrame();
    expect.verifySteps([]);
});

test("what is still there when the prompts have come is sent", async () => {
    const { commands, loading } = slowCommands();
    await mountComposer({ draft: "/billing" }, commands);
    await press("Enter");
    expect.verifySteps([]);
    loading.resolve();
    await animationFrame();
    expect.verifySteps(["send /billing"]);
});

test("an Enter before anything is written sends nothing later", async () => {
    const owner = await mountComposer({ isBusy: true });
    await press("Enter");
    await edit("not yet");
    owner.state.isBusy = false;
    await animationFrame();
    expect.verifySteps([]);
});

test("a letter that is typed between a rendering and its patch stays", async () => {
    const owner = await mountComposer({ draft: "a" });
    const input = queryOne(".o_ai_chat_input");
    owner.state.isRunning = true;
    await microTick(); // rendered, with the text as it was
    input.value = "ab";
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await animationFrame();
    expect(".o_ai_chat_input").toHaveValue("ab");
    expect(owner.state.draft).toBe("ab");
});

test("it grows with its text and shrinks again", async () => {
    const owner = await mountComposer({ draft: "one" });
    const low = queryOne(".o_ai_chat_input").offsetHeight;
    owner.state.draft = "one\ntwo\nthree\nfour";
    await animationFrame();
    expect(queryOne(".o_ai_chat_input").offsetHeight).toBeGreaterThan(low);
    owner.state.draft = "one";
    await animationFrame();
    expect(queryOne(".o_ai_chat_input").offsetHeight).toBe(low);
});

test("a finger begins a line with Enter; the button sends and shows what there is to read", async () => {
    patchWithCleanup(window, { matchMedia: () => ({ matches: true }) });
    await mountComposer({ draft: "one" });
    expect(".o_ai_chat_input").toHaveAttribute("enterkeyhint", "enter");
    await click(".o_ai_chat_input");
    const events = await press("Enter");
    expect(events.find(({ type }) => type === "keydown").defaultPrevented).toBe(false);
    expect.verifySteps([]);
    await click(".o_ai_chat_send");
    expect.verifySteps(["send one\n"]);
    expect(".o_ai_chat_input").not.toBeFocused();
});
