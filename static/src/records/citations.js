/** Answers name the records that they are about: names and ids of what this turn has found become links. */
import { recordsOf } from "./record_result";
import { pagePath } from "./record_values";

/** Records of one turn that are looked for, and the shortest name that is. */
const MAX_RECORDS = 300;
const MIN_NAME = 4;
const EDGE = /[\p{Script=Latin}\p{N}]/u;
/** Where a link, or something that is shown as it is, stands already. */
const LEFT_ALONE = "a, code, pre";

/**
 * @typedef {Object} Citations
 * @property {Map<string, string>} paths by what an answer says of a record
 * @property {RegExp} pattern of all of it
 */

function literal(text) {
    return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** A name, not as a part of a longer word. */
function namePattern(name) {
    const before = EDGE.test(name[0]) ? "(?<![\\p{L}\\p{N}])" : "";
    const after = EDGE.test(name.at(-1)) ? "(?![\\p{L}\\p{N}])" : "";
    return `${before}${literal(name)}${after}`;
}

/** What only one record says. */
function single(found) {
    return new Map([...found].filter(([, path]) => path));
}

function note(found, text, path) {
    found.set(text, found.has(text) && found.get(text) !== path ? null : path);
}

/**
 * @param {import("../turn/turn_state").TurnItem[]} items of a turn
 * @returns {Citations|null}
 */
export function citationsOf(items) {
    const rows = items
        .flatMap(({ type, call }) => (type === "tool" && recordsOf(call)?.rows) || [])
        .slice(0, MAX_RECORDS);
    const names = new Map();
    const ids = new Map();
    for (const row of rows) {
        const path = pagePath(row.url);
        if (path) {
            note(ids, String(row.id), path);
            if (row.name?.length >= MIN_NAME) {
                note(names, row.name, path);
            }
        }
    }
    const paths = single(names);
    const byId = [...single(ids)].map(([id, path]) => {
        paths.set(`#${id}`, path);
        return id;
    });
    if (!paths.size) {
        return null;
    }
    const longest = [...single(names).keys()].sort((a, b) => b.length - a.length);
    const parts = longest.map(namePattern);
    if (byId.length) {
        parts.push(`(?<=\\b(?:id|ID)[ :=#]{1,2}|#)(?:${byId.join("|")})(?!\\d)`);
    }
    return { paths, pattern: new RegExp(parts.join("|"), "gu") };
}

function linked(text, { paths, pattern }) {
    const nodes = [];
    let end = 0;
    for (const match of text.matchAll(pattern)) {
        const link = document.createElement("a");
        link.href = paths.get(match[0]) || paths.get(`#${match[0]}`);
        link.textContent = match[0];
        nodes.push(text.slice(end, match.index), link);
        end = match.index + match[0].length;
    }
    return end ? [...nodes, text.slice(end)] : null;
}

/**
 * Puts links into a document that is not on the page yet.
 *
 * @param {HTMLElement} body
 * @param {Citations} citations
 */
export function linkCitations(body, citations) {
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
        if (!walker.currentNode.parentElement.closest(LEFT_ALONE)) {
            texts.push(walker.currentNode);
        }
    }
    for (const node of texts) {
        const nodes = linked(node.textContent, citations);
        if (nodes) {
            node.replaceWith(...nodes);
        }
    }
}
