import { loadBundle } from "@web/core/assets";

/** Characters of code beyond which colours are not worth the wait. */
const MAX_CHARS = 50000;

/** Prism is Odoo's own copy, fetched with the first code that names its language. */
async function loadPrism() {
    // without this it would colour the whole page as soon as it is there
    window.Prism ??= { manual: true };
    await loadBundle("woow_paas_platform.assets_highlight");
}

function nodesOf(token) {
    if (typeof token === "string") {
        return [document.createTextNode(token)];
    }
    if (Array.isArray(token)) {
        return token.flatMap(nodesOf);
    }
    const span = document.createElement("span");
    span.className = ["token", token.type, token.alias ?? []].flat().join(" ");
    span.append(...nodesOf(token.content));
    return [span];
}

/**
 * @param {string} code
 * @param {string} language as a Markdown fence names it
 * @returns {Promise<Node[]|null>} null: the language is not known, or the colours cannot be had
 */
export async function highlight(code, language) {
    if (!language || code.length > MAX_CHARS) {
        return null;
    }
    try {
        await loadPrism();
    } catch {
        return null;
    }
    const grammar =
        Object.hasOwn(window.Prism.languages, language) && window.Prism.languages[language];
    return typeof grammar === "object" ? nodesOf(window.Prism.tokenize(code, grammar)) : null;
}
