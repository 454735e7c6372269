import { markRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";
import { NO_FILTERS } from "../filters/list_filter";

/** Conversations that one request brings. */
export const LIST_SIZE = 30;
/** The place of the list for conversations that were put away. */
export const ARCHIVE = "archive";

const { DateTime } = luxon;

/** Pinned ones first, then the one in which something happened last, as the server orders them. */
function inOrder(a, b) {
    return (
        Boolean(b.pinned) - Boolean(a.pinned) ||
        (b.last_message_at || "").localeCompare(a.last_message_at || "") ||
        b.id - a.id
    );
}

/** The person's conversations as the list shows them. */
export class ConversationIndex extends Reactive {
    /** @param {import("../core/ai_api").AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        this.conversations = [];
        this.hasMore = false;
        /** Whether the server could not look through all in time. */
        this.isIncomplete = false;
        this.isLoaded = false;
        this.isLoading = false;
        /** How many searches have not been answered. */
        this.searches = 0;
        this.error = null;
        /** Only conversations with these words. */
        this.words = "";
        /** Only conversations about this cloud service; null: all. */
        this.cloudServiceId = null;
        /** `ARCHIVE`, the id of a folder, or null: what is in neither. */
        this.place = null;
        this.filters = { ...NO_FILTERS };
    }

    find(id) {
        return this.conversations.find((conversation) => conversation.id === id);
    }

    /** Whether an answer is on its way in a conversation other than this one. */
    isBusyElsewhere(currentId) {
        return this.conversations.some(
            ({ id, turn }) => id !== currentId && ["queued", "running"].includes(turn?.state)
        );
    }

    /** What the server is asked for; an answer to anything else is dropped. */
    get query() {
        const { words, place, folderId, filters } = this;
        const { assistantId, days, hasFiles } = filters;
        return {
            words,
            assistantId,
            hasFiles,
            since: days ? DateTime.now().minus({ days }).toISODate() : undefined,
            cloudServiceId: this.cloudServiceId || filters.cloudServiceId,
            isArchived: place === ARCHIVE,
            // a search outside of folders looks into them, too
            folderId: folderId || (this.isWhole ? 0 : undefined),
        };
    }

    get isFiltered() {
        return Object.values(this.filters).some(Boolean);
    }

    /** @param {Object} filters those of `NO_FILTERS` that change */
    filter(filters) {
        Object.assign(this.filters, filters);
        return this.search(this.words);
    }

    /** Of the folder that is open, else null. */
    get folderId() {
        return this.place === ARCHIVE ? null : this.place;
    }

    /** Whether all conversations are shown, but for those put away. */
    get isWhole() {
        return !this.words && !this.place && !this.isFiltered;
    }

    /** Reads the latest ones, or brings them up to date. */
    load() {
        return this.read({ limit: LIST_SIZE }, (data) => {
            const fresh = new Set(data.conversations.map(({ id }) => id));
            const last = data.conversations.at(-1);
            // one that belongs before and is not there has gone elsewhere
            const rest = this.conversations.filter(
                (one) => !fresh.has(one.id) && last && inOrder(one, last) > 0
            );
            const isFirst = !this.isLoaded;
            this.conversations = data.has_more
                ? [...data.conversations, ...rest].sort(inOrder)
                : data.conversations;
            this.hasMore = isFirst || !data.has_more ? data.has_more : this.hasMore;
        });
    }

    loadMore() {
        const before = this.conversations.at(-1)?.id;
        return this.read({ limit: LIST_SIZE, before }, (data) => {
            const known = new Set(this.conversations.map(({ id }) => id));
            const further = data.conversations.filter(({ id }) => !known.has(id));
            // only known ones: the last one is gone, and the server began with the first ones again
            const isFirst = data.conversations.length > 0 && !further.length;
            this.conversations = isFirst ? data.conversations : [...this.conversations, ...further];
            this.hasMore = data.has_more;
        });
    }

    async read(params, apply) {
        this.isLoading = true;
        const { query } = this;
        try {
            const data = await this.api.conversations({ ...params, ...query });
            if (JSON.stringify(query) !== JSON.stringify(this.query)) {
                return;
            }
            apply(data);
            this.isIncomplete = Boolean(data.incomplete);
            this.isLoaded = true;
            this.error = null;
        } catch (error) {
            this.error = error;
        } finally {
            this.isLoading = false;
        }
    }

    /** What is there is shown until the answer has come; an answer to earlier words is dropped. */
    async search(words) {
        this.words = words;
        this.searches++;
        await this.read({ limit: LIST_SIZE }, (data) => {
            this.conversations = data.conversations;
            this.hasMore = data.has_more;
        });
        this.searches--;
    }

    get isSearching() {
        return this.searches > 0;
    }

    /** Shows another place, whole. */
    show(place) {
        Object.assign(this.filters, NO_FILTERS);
        Object.assign(this, { place, conversations: [], hasMore: false, isLoaded: false });
        return this.search("");
    }

    add(conversation) {
        this.conversations = [conversation, ...this.conversations].sort(inOrder);
    }

    /** It is opened: what is new in it is seen. */
    see(id) {
        const listed = this.find(id);
        if (listed) {
            listed.unseen = false;
        }
    }

    rename(id, name) {
        const listed = this.find(id);
        if (listed) {
            listed.name = name;
        }
    }

    remove(ids) {
        this.conversations = this.conversations.filter(({ id }) => !ids.includes(id));
    }

    /** Into a folder, or out of all. */
    move(ids, folderId) {
        this.conversations
            .filter(({ id }) => ids.includes(id))
            .forEach((one) => {
                one.folder_id = folderId;
            });
        if (this.isWhole || this.folderId) {
            this.conversations = this.conversations.filter(
                (one) => (one.folder_id ?? null) === this.folderId
            );
        }
    }

    /** Pinned or no longer. */
    pin(ids, isPinned) {
        this.conversations
            .filter(({ id }) => ids.includes(id))
            .forEach((one) => {
                one.pinned = isPinned;
            });
        this.conversations = [...this.conversations].sort(inOrder);
    }
}
