import { describe, expect, test } from "@odoo/hoot";
import {
    entriesByServer,
    matchingEntries,
    resourceEntries,
} from "@woow_paas_platform/commands/resource_list";

describe.current.tags("headless");

const WIKI = { id: 1, name: "wiki" };
const FILES = { id: 2, name: "files" };

function resource(values) {
    return { server: WIKI, title: "", description: "", mimetype: "", size: null, ...values };
}

const LISTED = {
    resources: [
        resource({ uri: "wiki://one", name: "one", title: "The First", mimetype: "text/plain" }),
        resource({ server: FILES, uri: "file:///a.csv", name: "a.csv", size: 2_500 }),
    ],
    templates: [
        resource({
            uri: "wiki://{page}{?lang,page_size}",
            name: "pages",
            description: "Any page",
            variables: ["page", "lang", "page_size"],
        }),
    ],
};

test("entries stand server by server, templates first", () => {
    const entries = resourceEntries(LISTED);
    const groups = entriesByServer(entries);
    expect(groups.map(({ server }) => server.name)).toEqual(["wiki", "files"]);
    expect(groups[0].entries.map(({ name }) => name)).toEqual(["pages", "The First"]);
    expect(entries.at(-1)).toMatchObject({ uri: "file:///a.csv", size: 2_500, isTemplate: false });
});

test("variables of a query may be left out", () => {
    expect(resourceEntries(LISTED)[0].fields).toEqual([
        { name: "page", required: true },
        { name: "lang", required: false },
        { name: "page_size", required: false },
    ]);
});

test("a search wants every word, wherever it stands", () => {
    const entries = resourceEntries(LISTED);
    const found = (search) => matchingEntries(entries, search).map(({ name }) => name);
    expect(found("WIKI first")).toEqual(["The First"]);
    expect(found("any page")).toEqual(["pages"]);
    expect(found("first csv")).toEqual([]);
    expect(found("  ")).toHaveLength(3);
});
