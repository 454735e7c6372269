import { beforeEach, expect, test } from "@odoo/hoot";
import { localization } from "@web/core/l10n/localization";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { fieldText, formFields, readForm } from "@woow_paas_platform/questions/argument_form";

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
