import { beforeEach, expect, test } from "@odoo/hoot";
import { localization } from "@web/core/l10n/localization";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { parseJson, writeJson } from "@woow_paas_platform/core/format";
import {
    fieldText,
    formFields,
    readChanges,
    readForm,
} from "@woow_paas_platform/questions/argument_form";

const SCHEMA = {
    type: "object",
    properties: {
        city: { type: "string", title: "City", description: "Where" },
        days: { type: "integer" },
        wind: { type: ["number", "null"] },
        alarm: { type: "boolean" },
        unit: { enum: ["C", "F"] },
        places: { type: "array", items: { type: "string" } },
    },
    required: ["city"],
};

beforeEach(() => patchWithCleanup(localization, { decimalPoint: "." }));

function textsOf(fields, args) {
    return Object.fromEntries(
        fields.map((field) => [field.name, fieldText(field, args[field.name])])
    );
}

test("each kind of argument has a field, in the schema's order", () => {
    const fields = formFields(SCHEMA, {}, ["days"]);
    expect(fields.map(({ kind }) => kind)).toEqual([
        "text",
        "integer",
        "number",
        "boolean",
        "enum",
        "json",
    ]);
    expect(fields[0]).toMatchObject({ label: "City", description: "Where", isRequired: true });
    expect(fields[1].isFixed).toBe(true);
});

test("what is not touched comes back unchanged", () => {
    const args = { city: "", days: 0, alarm: false, unit: "F", places: ["a"], extra: { deep: 1 } };
    const fields = formFields(SCHEMA, args);
    expect(readForm(fields, textsOf(fields, args), args)).toEqual({ args, problems: {} });
});

test("a value that does not fit its field is shown as JSON", () => {
    const args = { city: 5, days: "three", wind: null };
    const fields = formFields(SCHEMA, args);
    expect(fields.slice(0, 3).map(({ kind }) => kind)).toEqual(["json", "json", "json"]);
    expect(readForm(fields, textsOf(fields, args), args)).toEqual({ args, problems: {} });
});

test("what cannot be read is named and nothing is guessed", () => {
    const fields = formFields(SCHEMA, {});
    const { args, problems } = readForm(fields, {
        city: "Taipei",
        days: "1.5",
        wind: "much",
        places: "[",
    });
    expect(args).toEqual({ city: "Taipei" });
    expect(problems).toEqual({ days: "integer", wind: "number", places: "json" });
});

test("a number may have the person's own decimal sign", () => {
    patchWithCleanup(localization, { decimalPoint: "," });
    const fields = formFields(SCHEMA, {});
    const read = (wind) => readForm(fields, { wind });
    expect(read("1,5").args.wind).toBe(1.5);
    expect(read("1.5").args.wind).toBe(1.5);
    expect(read("1.000,5").problems).toEqual({ wind: "number" });
});

const LABELS = {
    properties: {
        id: { type: "integer" },
        tags: { type: "array", items: { enum: ["new", "old"] } },
        note: { type: "string" },
        more: { type: "object" },
    },
    required: ["id", "tags"],
};
const LABELLED = '{"id":1234567890123456789,"tags":[],"more":{"of":9007199254740993}}';

/** What is sent of a form in which these texts were changed. */
function sent(changed) {
    const args = parseJson(LABELLED);
    const fields = formFields(LABELS, args);
    return readChanges(fields, { ...textsOf(fields, args), ...changed }, args);
}

test("nothing is sent of a form that is as it was", () => {
    expect(sent({})).toEqual({ changes: null, problems: {} });
    expect(sent({ id: "1234567890123456789" }).changes).toBe(null);
});

test("only what was changed is sent, and the rest by its names", () => {
    expect(sent({ note: "n" }).changes).toEqual({
        args: { note: "n" },
        unchanged: ["id", "tags", "more"],
    });
    expect(sent({ tags: "1" }).changes.args).toEqual({ tags: ["old"] });
    expect(sent({ more: "" }).changes).toEqual({ args: {}, unchanged: ["id", "tags"] });
    expect(sent({ id: "" }).problems).toEqual({ id: "required" });
});

test("a long integer shows, and is sent with, all of its digits", () => {
    const fields = formFields(LABELS, parseJson(LABELLED));
    expect(textsOf(fields, parseJson(LABELLED))).toEqual({
        id: "1234567890123456789",
        tags: "",
        note: "",
        more: '{\n  "of": 9007199254740993\n}',
    });
    const { changes } = sent({ id: "1234567890123456788", more: '{"of": 9007199254740995}' });
    expect(writeJson(changes.args)).toBe(
        '{"id":1234567890123456788,"more":{"of":9007199254740995}}'
    );
});

test("a list that was there may be emptied", () => {
    const args = { id: 1, tags: ["new"] };
    const fields = formFields(LABELS, args);
    const changed = { ...textsOf(fields, args), tags: "" };
    expect(readForm(fields, changed, args).args).toEqual({ id: 1, tags: [] });
    expect(readForm(fields, changed).problems).toEqual({ tags: "required" });
});
