/**
 * The form of a server's question as pure data: fields of a flat schema with their defaults.
 * Whether an answer fits is decided by the server of Odoo, which names a code per field.
 */
import { fieldText, formFields, readForm } from "./argument_form";

const { DateTime } = luxon;

const INPUT_TYPES = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

/** @returns {import("./argument_form").FormField[]} */
export function answerFields(schema) {
    return formFields(schema).map((field) => ({
        ...field,
        kind: field.kind === "json" ? "text" : field.kind,
    }));
}

export function inputType({ kind, format }) {
    return (kind === "text" && INPUT_TYPES[format]) || "text";
}

function isMoment(field) {
    return inputType(field) === "datetime-local";
}

/** `2026-11-21T08:00:00Z` as the same moment on the person's clock, without a zone. */
function toLocal(text) {
    const moment = DateTime.fromISO(text);
    return moment.isValid ? moment.toFormat("yyyy-MM-dd'T'HH:mm", { numberingSystem: "latn" }) : "";
}

function toUtc(text) {
    return DateTime.fromISO(text).toUTC().toISO({ suppressMilliseconds: true });
}

/** What stands in a field at first. */
export function answerText(field) {
    const { default: value } = field;
    if (value === undefined || value === null) {
        return "";
    }
    return isMoment(field) ? toLocal(value) : fieldText(field, value);
}

/**
 * @param {Object[]} fields of `answerFields`
 * @param {Object<string, string>} texts what stands in them; empty means no answer
 * @returns {{content: Object, problems: Object<string, string>}} see `readForm`
 */
export function readAnswer(fields, texts) {
    const { args: content, problems } = readForm(fields, texts);
    for (const field of fields) {
        if (field.isRequired && content[field.name] === "") {
            problems[field.name] = "required";
        }
        if (isMoment(field) && content[field.name]) {
            content[field.name] = toUtc(content[field.name]);
        }
    }
    return { content, problems };
}
