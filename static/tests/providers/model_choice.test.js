import { click, edit, expect, queryAllTexts, test } from "@odoo/hoot";
import { animationFrame, Deferred } from "@odoo/hoot-mock";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import {
    contains,
    defineModels,
    fields,
    makeDialogMockEnv,
    models,
    mountView,
    mountWithCleanup,
    patchWithCleanup,
} from "@web/../tests/web_test_helpers";
import { AiApiError } from "@woow_paas_platform/core/api_error";
import { ModelField } from "@woow_paas_platform/providers/model_field";
import { ModelChoice } from "@woow_paas_platform/server_dialogs/model_choice";

class Provider extends models.Model {
    _name = "provider";
    api_base_url = fields.Char();
    api_key = fields.Char();
    model = fields.Char();
    _records = [{ id: 1, api_base_url: "https://a.example.com/v1", model: "small" }];
}

defineMailModels();
defineModels([Provider]);

const PROVIDER = { provider_id: 1, api_base_url: "https://a.example.com/v1" };

async function mountChoice(answer) {
    const asked = [];
    const api = {
        request(method, path, body) {
            asked.push([method, path, body]);
            return answer();
        },
    };
    await mountWithCleanup(ModelChoice, {
        env: await makeDialogMockEnv(),
        props: {
            provider: PROVIDER,
            current: "small",
            onChosen: (name) => expect.step(`chosen ${name}`),
            close: () => expect.step("close"),
            api,
        },
    });
    return asked;
}

test("names follow, words narrow them, and one is chosen", async () => {
    const answer = new Deferred();
    const asked = await mountChoice(() => answer);
    expect("[role=status]").toHaveText("Loading…");
    answer.resolve({ models: ["large", "large-2", "small"] });
    await animationFrame();
    expect(asked).toEqual([["POST", "/api/ai/providers/models", PROVIDER]]);
    expect(".list-group-item.active").toHaveText("small");
    await click("input[type=search]");
    await edit("LARGE 2");
    await animationFrame();
    expect(queryAllTexts(".list-group-item")).toEqual(["large-2"]);
    await click(".list-group-item");
    expect.verifySteps(["chosen large-2", "close"]);
});

test("a provider without a list says so", async () => {
    await mountChoice(() => Promise.resolve({ models: [] }));
    await animationFrame();
    expect("[role=status]").toHaveText(/does not list its models/);
});

test("a provider that refuses says so", async () => {
    const refused = new AiApiError({ code: "llm_auth_failed", message: "The key was refused." });
    await mountChoice(() => Promise.reject(refused));
    await animationFrame();
    expect("[role=alert]").toHaveText("The key was refused.");
});

test("the field asks with what stands in the form, and takes what is chosen", async () => {
    const asked = [];
    patchWithCleanup(ModelField.prototype, {
        open(props) {
            asked.push(props.provider);
            props.onChosen("large");
        },
    });
    await mountView({
        resModel: "provider",
        resId: 1,
        type: "form",
        arch: `<form><field name="api_base_url"/><field name="api_key"/>
            <field name="model" widget="woow_model_name"/></form>`,
    });
    await contains("[name=api_key] input").edit("sk-new", { confirm: false });
    await contains("[name=model] button").click();
    await animationFrame();
    expect(asked).toEqual([{ ...PROVIDER, api_key: "sk-new" }]);
    await animationFrame();
    expect("[name=model] input").toHaveValue("large");
});
