import { expect, test } from "@odoo/hoot";
import { click, queryAllTexts, queryOne } from "@odoo/hoot-dom";
import { mountWithCleanup, patchWithCleanup } from "@web/../tests/web_test_helpers";
import { browser } from "@web/core/browser/browser";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { Markdown, OpenBlock } from "@woow_paas_platform/markdown/markdown";
import { settle } from "../ai_chat_test_helpers";

defineMailModels();

const CODE = '<pre><code class="language-python">if x &lt; 1:\n    pass\n</code></pre>';

test("text, code and tables stand in their order", async () => {
    const html = `<p>Before</p>\n${CODE}\n<table><tbody><tr><td>1</td></tr></tbody></table>\n<p>After</p>`;
    await mountWithCleanup(Markdown, { props: { html } });
    expect([...queryOne(".o_ai_chat_html").children].map(({ className }) => className)).toEqual([
        "",
        "o_ai_chat_code",
        "o_ai_chat_table_block",
        "",
    ]);
    expect(queryOne(".o_ai_chat_code code").textContent).toBe("if x < 1:\n    pass");
    expect(".o_ai_chat_code_head span").toHaveText("python");
    expect(queryAllTexts("td")).toEqual(["1"]);
});

test("a table is kept as a file", async () => {
    const table =
        "<table><thead><tr><th>Name</th></tr></thead><tbody><tr><td>Ada, <b>1</b></td></tr></tbody></table>";
    let file;
    patchWithCleanup(URL, {
        createObjectURL(blob) {
            file = blob;
            return "about:blank";
        },
    });
    patchWithCleanup(HTMLAnchorElement.prototype, {
        click() {
            expect.step(this.download);
        },
    });
    await mountWithCleanup(Markdown, { props: { html: table } });
    await click(".o_ai_chat_csv");
    expect.verifySteps(["table.csv"]);
    expect(await file.text()).toBe('\ufeffName\r\n"Ada, 1"\r\n');
});

test("code is copied as it was written, and the button says so", async () => {
    const clipboard = {
        async writeText(text) {
            expect.step(text);
        },
    };
    patchWithCleanup(browser, { navigator: { ...browser.navigator, clipboard } });
    await mountWithCleanup(Markdown, { props: { html: CODE } });
    await click(".o_ai_chat_copy");
    await settle();
    expect.verifySteps(["if x < 1:\n    pass"]);
    expect(".o_ai_chat_copy").toHaveAttribute("data-result", "copied");
    expect(".o_ai_chat_copy").toHaveAttribute("aria-label", "Copied");
});

test("what names a language can be anything", async () => {
    const names = ["__proto__", "constructor", "extend", '"><img src=x onerror=1>'];
    for (const name of names) {
        const code = document.createElement("code");
        code.className = `language-${name}`;
        code.textContent = "<img src=x>";
        await mountWithCleanup(Markdown, { props: { html: `<pre>${code.outerHTML}</pre>` } });
    }
    await settle();
    expect("img").toHaveCount(0);
    expect(".o_ai_chat_code").toHaveCount(names.length);
});

test("a block that grows is code as soon as its fence says so", async () => {
    await mountWithCleanup(OpenBlock, { props: { text: "```js\nlet a = 1;\nlet" } });
    expect(".o_ai_chat_code_head span").toHaveText("js");
    expect(queryOne("code").textContent).toBe("let a = 1;\nlet");
    await mountWithCleanup(OpenBlock, { props: { text: "Just `code`" } });
    expect(".o_ai_chat_plain").toHaveText("Just `code`");
});
