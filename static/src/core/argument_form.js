/**
 * A form made from a JSON Schema, as pure data: which fields there are, what they show, what they mean.
 * No DOM: the card of the approval draws it.
 *
 * @typedef {Object} FormField
 * @property {string} name
 * @property {string} label
 * @property {string} description
 * @property {"text"|"number"|"integer"|"boolean"|"enum"|"json"} kind
 * @property {boolean} isRequired
 * @property {boolean} isFixed
 * @property {*[]} options of an enum
 */

const LONG_TEXT = 60; // characters from which a text gets several lines

function kindOf(schema) {
    if (Array.isArray(schema.enum) && schema.enum.length) {
        return "enum";
    }
    const types = [schema.type].flat().filter((type) => type && type !== "null");
    const kinds = { string: "text", number: "number", integer: "integer", boolean: "boolean" };
    return (types.length === 1 && kinds[types[0]]) || "json";
}

/** Whether the value can be shown by the field without losing anything. */
function fits(kind, value) {
    if (value === undefined || value === null) {
        return value === undefined;
    }
    const types = { text: "string", number: "number", integer: "number", boolean: "boolean" };
    return types[kind] ? typeof value === types[kind] : true;
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
        return {
            name,
            label: property.title || name,
            description: property.description || "",
            kind: fits(kind, args[name]) ? kind : "json",
            isRequired: required.has(name),
            isFixed: fixed.includes(name),
            options: property.enum || [],
        };
    });
}

/** What the field shows for a value; the boolean `undefined` is a choice of its own. */
export function fieldText({ kind, options }, value) {
    if (value === undefined) {
        return "";
    }
    if (kind === "enum") {
        return String(options.findIndex((option) => option === value));
    }
    return kind === "json" ? JSON.stringify(value, null, 2) : String(value);
}

export function isLongText({ kind }, text) {
    return kind === "json" || (kind === "text" && (text.length > LONG_TEXT || text.includes("\n")));
}

/** @throws {SyntaxError} what is written is no value of this kind */
function fieldValue({ kind, options }, text) {
    switch (kind) {
        case "text":
            return text;
        case "enum":
            return options[Number(text)];
        case "boolean":
            return text === "true";
        case "json":
            return JSON.parse(text);
    }
    const number = Number(text.trim());
    if (!text.trim() || !Number.isFinite(number) || (kind === "integer" && number % 1)) {
        throw new SyntaxError("no number");
    }
    return number;
}

/**
 * @param {FormField[]} fields
 * @param {Object<string, string>} texts what stands in the fields
 * @param {Object} args the values before; a text that was and stays empty means no value
 * @returns {{args: Object, problems: Object<string, string>}} kinds of the fields that cannot be read
 */
export function readForm(fields, texts, args = {}) {
    const read = {};
    const problems = {};
    for (const field of fields) {
        const text = texts[field.name] ?? "";
        const isUnset = text === "" && !(field.kind === "text" && args[field.name] !== undefined);
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
