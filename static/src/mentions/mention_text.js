/** What a text says of records, as pure functions. A record is meant where `@` and its name stand. */

/** Characters, and words, that may stand behind the sign. */
const MAX_QUERY = 60;
const MAX_WORDS = 5;
/** Not in an address such as me@example.com; in front of it may stand any script that has no blanks. */
const MENTION = /(?:^|[^\w.+\-@])@([^\s@][^@\n]*)$/;

/**
 * @param {number} caret where the person writes
 * @returns {{start: number, query: string}|null} what is being written behind the sign, and where the sign stands
 */
export function mentionAt(text, caret) {
    const query = MENTION.exec(text.slice(0, caret))?.[1];
    if (!query || query.length > MAX_QUERY || query.split(/\s+/).length > MAX_WORDS) {
        return null;
    }
    return { start: caret - query.length - 1, query: query.trimEnd() };
}

/** @returns {{text: string, caret: number}} with the name in the place of what was written */
export function withMention(text, { start }, caret, { name }) {
    const before = `${text.slice(0, start)}@${name} `;
    return { text: before + text.slice(caret).trimStart(), caret: before.length };
}

export function isSame(one, other) {
    return one.model === other.model && one.id === other.id;
}

export function isNamed(text, { name }) {
    return text.includes(`@${name}`);
}

/** The name stays a part of the sentence. */
export function withoutMention(text, { name }) {
    return text.replaceAll(`@${name}`, () => name);
}
