import { beforeEach, expect, test } from "@odoo/hoot";
import { localization } from "@web/core/l10n/localization";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import {
    answerFields,
    answerText,
    inputType,
    readAnswer,
} from "@woow_paas_platform/questions/answer_form";

const SCHEMA = {
    type: "object",
    properties: {
        name: { type: "string", title: "Name" },
        size: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"], default: "m" },
        color: { type: "string", oneOf: [{ const: "#f00", title: "Red" }, { const: "#00f" }] },
        tags: {
            type: "array",
            items: { anyOf: [{ const: "a", title: "A" }, { const: "b" }, { const: "c" }] },
            default: ["a", "c"],
        },
        age: { type: "integer", default: 0 },
        sure: { type: "boolean", default: false },
        mail: { type: "string", format: "email" },
        when: { type: "string", format: "date-time", default: "2026-11-21T08:30:00Z" },
        odd: { type: "object" },
    },
    required: ["name"],
};

beforeEach(() => patchWithCleanup(localization, { decimalPoint: "." }));

function textsOf(fields) {
    return Object.fromEntries(fields.map((field) => [field.name, answerText(field)]));
}

test("choices have labels, whatever the schema calls them", () => {
    const [, size, color, tags] = answerFields(SCHEMA);
    expect(size).toMatchObject({ kind: "enum", labels: ["Small", "Medium"] });
    expect(color).toMatchObject({
        kind: "enum",
        labels: ["Red", "#00f"],
        options: ["#f00", "#00f"],
    });
    expect(tags).toMatchObject({ kind: "multi", labels: ["A", "b", "c"] });
});

test("defaults stand in the form and come back as they were", () => {
    const fields = answerFields(SCHEMA);
    const texts = { ...textsOf(fields), name: "Ann" };
    expect(texts.tags).toBe("0,2");
    expect(readAnswer(fields, texts)).toEqual({
        content: {
            name: "Ann",
            size: "m",
            tags: ["a", "c"],
            age: 0,
            sure: false,
            when: "2026-11-21T08:30:00Z",
        },
        problems: {},
    });
});

test("what is missing or no number is said before it is sent", () => {
    const fields = answerFields(SCHEMA);
    const texts = { ...textsOf(fields), age: "many" };
    expect(readAnswer(fields, texts).problems).toEqual({ name: "required", age: "integer" });
});

test("texts of a format have an input of their own; what no form shows is a text", () => {
    const fields = Object.fromEntries(answerFields(SCHEMA).map((field) => [field.name, field]));
    expect(["name", "mail", "when", "age"].map((name) => inputType(fields[name]))).toEqual([
        "text",
        "email",
        "datetime-local",
        "text",
    ]);
    expect(fields.odd.kind).toBe("text");
});

test("a moment stands in its input whatever digits the person reads", () => {
    patchWithCleanup(luxon.Settings, { defaultNumberingSystem: "arab" });
    const fields = answerFields(SCHEMA);
    const texts = { ...textsOf(fields), name: "Ann" };
    expect(texts.when).toMatch(/^2026-11-21T\d\d:30$/);
    expect(readAnswer(fields, texts).content.when).toBe("2026-11-21T08:30:00Z");
});
