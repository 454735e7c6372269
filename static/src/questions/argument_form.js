/**
 * A form made from a JSON Schema, as pure data: which fields there are, what they show, what they mean.
 * No DOM: the card of the approval draws it.
 *
 * @typedef {Object} FormField
 * @property {string} name
 * @property {string} label
 * @property {string} description
 * @property {"text"|"number"|"integer"|"boolean"|"enum"|"multi"|"json"} kind
 * @property {boolean} isRequired
 * @property {boolean} isFixed
 * @property {*} default what counts where nothing is given; undefined if that is not known
 * @property {*[]} options of an enum, or of a list that holds some of them
 * @property {string[]} labels of the options
 * @property {string} format of a text, as JSON Schema names it
 * @property {boolean} isPositive a number that is not below zero
 */
import { localization } from "@web/core/l10n/localization";
import { parseUnrounded, writeJson } from "../core/format";

const LONG_TEXT = 60; // characters from which a text gets several lines

/** What may be chosen: `enum` (with `enumNames`), or a list of `{const, title}`. */
function choicesOf(schema) {
    if (Array.isArray(schema?.enum)) {
        const { enum: options, enumNames: names = [] } = schema;
        return { options, labels: options.map((option, i) => names[i] || String(option)) };
    }
    const listed = schema?.oneOf || schema?.anyOf;
    if (!Array.isArray(listed) || !listed.every((each) => each && Object.hasOwn(each, "const"))) {
        return { options: [], labels: [] };
    }
    return {
        options: listed.map((each) => each.const),
        labels: listed.map((each) => each.title || String(each.const)),
    };
}

function isList(schema) {
    return schema.type === "array" && choicesOf(schema.items).options.length > 0;
}

function kindOf(schema) {
    if (choicesOf(schema).options.length) {
        return "enum";
    }
    if (isList(schema)) {
        return "multi";
    }
    const types = [schema.type].flat().filter((type) => type && type !== "null");
    const kinds = { string: "text", number: "number", integer: "integer", boolean: "boolean" };
    return (types.length === 1 && kinds[types[0]]) || "json";
}

/** Whether the value can be shown by the field without losing anything. */
function fits(kind, options, value) {
    if (value === undefined || value === null) {
        return value === undefined;
    }
    if (kind === "multi") {
        return Array.isArray(value) && value.every((each) => options.includes(each));
    }
    const number = ["number", "bigint"];
    const types = { text: ["string"], number, integer: number, boolean: ["boolean"] };
    return types[kind]?.includes(typeof value) ?? true;
}

/** Whether the description only repeats what the field is called. */
function isEcho({ title, description }, name) {
    const bare = (text) =>
        String(text || "")
            .toLowerCase()
            .replace(/[^\p{L}\p{N}]+/gu, "");
    return [bare(title), bare(name)].includes(bare(description));
}

/**
 * @param {Object} schema of an object
 * @param {Object} args what is there already
 * @param {string[]} fixed names of arguments that nobody may change
 * @returns {FormField[]}
 */
export function formFields(schema, args = {}, fixed = []) {
    const properties = schema?.properties || {};
    const required = new Set(schema?.required || []);
    const names = [...new Set([...Object.keys(properties), ...Object.keys(args)])];
    return names.map((name) => {
        const property = properties[name] || {};
        const kind = kindOf(property);
        const { options, labels } = choicesOf(kind === "multi" ? property.items : property);
        return {
            name,
            label: property.title || name,
            description: isEcho(property, name) ? "" : property.description || "",
            default: property.default,
            kind: fits(kind, options, args[name]) ? kind : "json",
            isRequired: required.has(name),
            isFixed: fixed.includes(name),
            options,
            labels,
            format: property.format || "",
            isPositive: property.minimum >= 0,
        };
    });
}

/** What the field shows for a value: of choices their indexes. `undefined` is a choice of its own. */
export function fieldText({ kind, options }, value) {
    if (value === undefined) {
        return "";
    }
    if (kind === "enum") {
        return String(options.findIndex((option) => option === value));
    }
    if (kind === "multi") {
        return value.map((each) => options.indexOf(each)).join(",");
    }
    return kind === "json" ? writeJson(value, 2) : String(value);
}

export function isLongText({ kind }, text) {
    return kind === "json" || (kind === "text" && (text.length > LONG_TEXT || text.includes("\n")));
}

/** A number as JSON writes it: a keypad may offer the person's own decimal sign only. */
function withPoint(text) {
    const { decimalPoint } = localization;
    return text.includes(".") ? text : text.replace(decimalPoint, ".");
}

/** @throws {SyntaxError} what is written is no value of this kind */
function fieldValue({ kind, options }, text) {
    switch (kind) {
        case "text":
            return text;
        case "enum":
            return options[Number(text)];
        case "multi":
            return text ? text.split(",").map((index) => options[Number(index)]) : [];
        case "boolean":
            return text === "true";
        case "json":
            return parseUnrounded(text);
    }
    const written = withPoint(text.trim());
    const number = Number(written);
    if (!written || !Number.isFinite(number) || (kind === "integer" && number % 1)) {
        throw new SyntaxError("no number");
    }
    return /^-?\d{16,}$/.test(written) ? parseUnrounded(written) : number;
}

/**
 * @param {FormField[]} fields
 * @param {Object<string, string>} texts what stands in the fields
 * @param {Object} args the values before: an empty text or list means no value where there was none
 * @returns {{args: Object, problems: Object<string, string>}} kinds of the fields that cannot be read
 */
export function readForm(fields, texts, args = {}) {
    const read = {};
    const problems = {};
    for (const field of fields) {
        const text = texts[field.name] ?? "";
        const canBeEmpty = ["text", "multi"].includes(field.kind) && args[field.name] !== undefined;
        const isUnset = text === "" && !canBeEmpty;
        if (isUnset) {
            if (field.isRequired && field.kind !== "text") {
                problems[field.name] = "required";
            } else if (field.isRequired) {
                read[field.name] = "";
            }
            continue;
        }
        try {
            read[field.name] = fieldValue(field, text);
        } catch {
            problems[field.name] = field.kind;
        }
    }
    return { args: read, problems };
}

/**
 * What a person has changed of a call; of the rest this page need not know all digits.
 *
 * @param {FormField[]} fields
 * @param {Object<string, string>} texts
 * @param {Object} args as they were asked for
 * @returns {{changes: {args: Object, unchanged: string[]}|null, problems: Object<string, string>}}
 *  `unchanged`: names of the other arguments; null: it is as it was asked for
 */
export function readChanges(fields, texts, args) {
    const changed = fields.filter(
        (field) => texts[field.name] !== fieldText(field, args[field.name])
    );
    if (!changed.length) {
        return { changes: null, problems: {} };
    }
    const { args: given, problems } = readForm(changed, texts, args);
    const unchanged = Object.keys(args).filter(
        (name) => !changed.some((field) => field.name === name)
    );
    return { changes: { args: given, unchanged }, problems };
}
