import { OPERATIONS, SCHEMAS } from "./api_table";

const ROUTES = Object.entries(OPERATIONS).map(([line, operation]) => ({
    pattern: new RegExp(
        `^${line.replaceAll(/\{(call|decision)_id\}/g, "[^/]+").replaceAll(/\{\w+\}/g, "\\d+")}$`
    ),
    ...operation,
}));
const IS = {
    array: Array.isArray,
    boolean: (value) => typeof value === "boolean",
    integer: Number.isInteger,
    null: (value) => value === null,
    number: Number.isFinite,
    object: (value) => value?.constructor === Object,
    string: (value) => typeof value === "string",
};

/** What makes a value unfit for a schema of the API, "" if it fits. */
export function misfit(value, schema, where = "it") {
    if (schema.$ref) {
        return misfit(value, SCHEMAS[schema.$ref.split("/").at(-1)], where);
    }
    if (schema.anyOf) {
        const misfits = schema.anyOf.map((one) => misfit(value, one, where));
        return misfits.every(Boolean) ? misfits[0] : "";
    }
    const kinds = [schema.type].flat();
    if (!kinds.some((kind) => IS[kind](value))) {
        return `${where} is not of the type ${kinds}`;
    }
    if (schema.enum && !schema.enum.includes(value)) {
        return `${where} is none of ${schema.enum}`;
    }
    if (value?.length > schema.maxLength) {
        return `${where} is longer than ${schema.maxLength}`;
    }
    if (IS.array(value) && schema.items) {
        return firstOf(value, (item, index) => misfit(item, schema.items, `${where}[${index}]`));
    }
    return IS.object(value) ? misfitOfObject(value, schema, where) : "";
}

function misfitOfObject(value, schema, where) {
    const { properties = {}, required = [], additionalProperties = true } = schema;
    return firstOf(new Set([...required, ...Object.keys(value)]), (name) => {
        const part = properties[name] || additionalProperties;
        if (!part) {
            return `${where} has “${name}”`;
        }
        const isLeftOut = (value[name] ?? null) === null && !required.includes(name);
        return part === true || isLeftOut ? "" : misfit(value[name], part, `${where}.${name}`);
    });
}

function firstOf(items, check) {
    return Array.from(items, check).find(Boolean) || "";
}

/**
 * @param {string} line method and path
 * @returns {string} why the API refuses this request, "" if it takes it
 */
export function misfitOfRequest(line, body = {}) {
    const route = ROUTES.find(({ pattern }) => pattern.test(line));
    if (!route) {
        return `there is no ${line}`;
    }
    return route.body ? misfit(body, SCHEMAS[route.body], "the request") : "";
}

/** The same of an answer's JSON. */
export function misfitOfAnswer(line, status, data) {
    const { answers } = ROUTES.find(({ pattern }) => pattern.test(line));
    if (status >= 400) {
        return misfit(data, SCHEMAS.Error, "the error");
    }
    if (!(status in answers)) {
        return `${line} does not answer ${status}`;
    }
    return answers[status] ? misfit(data, SCHEMAS[answers[status]], "the answer") : "";
}
