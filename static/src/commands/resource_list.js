/**
 * What servers offer to read, as a list to choose from: pure data.
 *
 * @typedef {Object} ResourceEntry
 * @property {string} key
 * @property {{id: number, name: string}} server
 * @property {string} name to show
 * @property {string} description
 * @property {string} uri
 * @property {string} mimetype
 * @property {number|null} size bytes
 * @property {boolean} isTemplate its address has variables to fill in
 * @property {{name: string, required: boolean}[]} fields these variables
 * @property {string} words what a search looks at, in small letters
 */

/** Variables of a query (`{?page}`) may be left out. */
function fieldsOf({ uri, variables = [] }) {
    const optional = new Set((uri.match(/\{[?&][^}]*\}/g) || []).join().match(/[\w.%]+/g));
    return variables.map((name) => ({ name, required: !optional.has(name) }));
}

/** @returns {ResourceEntry} */
function entryOf(resource, index, isTemplate) {
    const { server, uri, mimetype, size, description } = resource;
    const name = resource.title || resource.name;
    return {
        key: `${isTemplate ? "template" : "resource"}-${index}`,
        server,
        name,
        description,
        uri,
        mimetype,
        size,
        isTemplate,
        fields: fieldsOf(resource),
        words: `${server.name} ${name} ${uri} ${description}`.toLowerCase(),
    };
}

/**
 * @param {{resources: Object[], templates: Object[]}} listed as `GET …/resources` answers
 * @returns {ResourceEntry[]} server by server, templates first
 */
export function resourceEntries({ resources, templates }) {
    const entries = [
        ...templates.map((template, index) => entryOf(template, index, true)),
        ...resources.map((resource, index) => entryOf(resource, index, false)),
    ];
    const order = [...new Set(entries.map(({ server }) => server.id))];
    const rank = new Map(order.map((id, index) => [id, index]));
    return entries.sort((one, other) => rank.get(one.server.id) - rank.get(other.server.id));
}

/** @returns {ResourceEntry[]} those that have every word of the search */
export function matchingEntries(entries, search) {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    return words.length
        ? entries.filter((entry) => words.every((word) => entry.words.includes(word)))
        : entries;
}

/** @returns {{server: Object, entries: ResourceEntry[]}[]} neighbours of the same server together */
export function entriesByServer(entries) {
    const groups = [];
    for (const entry of entries) {
        if (groups.at(-1)?.server.id !== entry.server.id) {
            groups.push({ server: entry.server, entries: [] });
        }
        groups.at(-1).entries.push(entry);
    }
    return groups;
}
