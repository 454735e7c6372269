/** Lines of a card before all of it is asked for: a record takes one, and two of its fields take one. */
const LINES = 16;
/** Fields that say most of the first record, and of each other one, before there is room for more. */
const FIRST = 12;
const OTHERS = 6;
/** What a record is taken to say most of, where nothing is said of that. */
const UNTOLD = 6;

const linesOf = (fields) => Math.ceil(fields / 2);

/**
 * Records of a change in the order in which a person should read them: the one that the call is about, then what cannot
 * be taken back, then the rest.
 *
 * @param {Object} rehearsal see docs/api.md
 * @param {string} [model] of the call
 * @returns {Object[]} each with its `kind`, and a `key` of its own
 */
export function entriesOf({ changes = [], created = [], deleted = [] }, model) {
    const of = (kind) => (record, index) => ({
        ...record,
        fields: record.fields || [],
        first: record.first ?? UNTOLD,
        more: record.more || 0,
        kind,
        key: `${kind}-${index}`,
    });
    const kept = [...created.map(of("created")), ...changes.map(of("changed"))];
    const main = kept.find((entry) => entry.model === model) || kept[0];
    const rest = kept.filter((entry) => entry !== main);
    return [
        ...(main ? [main] : []),
        ...rest.filter(({ sensitive }) => sensitive),
        ...deleted.map(of("deleted")),
        ...rest.filter(({ sensitive }) => !sensitive),
    ];
}

/**
 * How much of these records stands on the card at once: what says most of each, then as much more as there is room for.
 *
 * @returns {{entry: Object, count: number}[]} records, and fields of each, from the first on
 */
export function firstLines(entries) {
    const shown = [];
    let room = LINES;
    for (const entry of entries) {
        if (shown.length && room <= 0) {
            break;
        }
        const most = shown.length ? OTHERS : FIRST;
        const count = Math.min(entry.fields.length, entry.first, most);
        shown.push({ entry, count });
        room -= 1 + linesOf(count);
    }
    for (const one of room > 0 ? shown : []) {
        const before = linesOf(one.count);
        one.count = Math.min(one.entry.fields.length, 2 * (before + room));
        room -= linesOf(one.count) - before;
    }
    return shown;
}
