import { markRaw } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { Reactive } from "@web/core/utils/reactive";

/** Decisions that one request brings. */
export const LIST_SIZE = 50;
/** Questions that are opened at once. */
export const MOST_OPENED = 20;
/** The decisions that one click makes on several calls. */
const TOGETHER = ["approve_once", "deny"];

/** What came of a decision, for a reader who cannot see that the row is gone. */
function outcomeOf({ kind, title }, decision) {
    const isDenied = ["deny", "decline", "cancel", "stop"].includes(decision);
    if (kind === "client_call") {
        return isDenied
            ? _t("“%(tool)s” is denied. The program learns this when it asks again.", {
                  tool: title,
              })
            : _t("“%(tool)s” is allowed. Let the program make the call again.", { tool: title });
    }
    if (kind === "call") {
        return isDenied
            ? _t("“%(tool)s” is denied.", { tool: title })
            : _t("“%(tool)s” is allowed.", { tool: title });
    }
    if (kind === "round") {
        return isDenied
            ? _t("The assistant answers without using more tools.")
            : _t("The assistant continues.");
    }
    return isDenied ? _t("The request is declined.") : _t("Your answer is sent.");
}

/**
 * All that waits for the person's decision, the newest first, as far as one request brings it.
 *
 * @typedef {Object} Row of `GET /api/ai/decisions`, with
 * @property {boolean} isOpen
 * @property {Object|null} question what is to be read before the decision; null: not read yet
 * @property {boolean} isSelected
 * @property {boolean} isEdited values were changed in its form
 * @property {Error|null} error
 */
export class DecisionList extends Reactive {
    /**
     * @param {import("../core/ai_api").AiApi} api
     * @param {import("../core/mcp_api").McpApi} mcpApi
     */
    constructor(api, mcpApi) {
        super();
        this.api = markRaw(api);
        this.mcpApi = markRaw(mcpApi);
        /** @type {Row[]} */
        this.rows = [];
        this.total = 0;
        this.isLoaded = false;
        this.isBusy = false;
        this.error = null;
        /** What became of the last decision. */
        this.said = "";
        this.decidedId = null;
        /** Rows that have gone so far: a list that was asked for before the last of them is old. */
        this.removals = 0;
        /** "", "conversations", "clients" or the id of an assistant. */
        this.from = "";
        this.kind = "";
        /** Place, among those shown, of a row that has gone; null: none since it was asked for. */
        this.gone = null;
    }

    // What is shown ----------------------------------------------------------

    get shown() {
        return this.rows.filter((row) => this.isFrom(row) && [row.kind, ""].includes(this.kind));
    }

    isFrom({ kind, assistant }) {
        switch (this.from) {
            case "":
                return true;
            case "conversations":
                return kind !== "client_call";
            case "clients":
                return kind === "client_call";
        }
        return String(assistant?.id) === this.from;
    }

    /** @returns {{id: number, name: string}[]} */
    get assistants() {
        const found = this.rows.map(({ assistant }) => assistant).filter(Boolean);
        return [...new Map(found.map((one) => [one.id, one])).values()];
    }

    get kinds() {
        return [...new Set(this.rows.map(({ kind }) => kind))];
    }

    get selected() {
        return this.shown.filter((row) => row.isSelected && this.isSelectable(row));
    }

    /** Its question was shown as it is, and may be decided together with others. */
    isSelectable({ question, isOpen, isEdited, destructive }) {
        const choices = question?.choices || [];
        return (
            isOpen &&
            !isEdited &&
            !destructive &&
            TOGETHER.every((choice) => choices.includes(choice))
        );
    }

    showAll() {
        Object.assign(this, { from: "", kind: "" });
    }

    // Reading ----------------------------------------------------------------

    async load() {
        const { removals } = this;
        try {
            const { decisions, total } = await this.api.decisions({ limit: LIST_SIZE });
            if (removals !== this.removals) {
                return this.load();
            }
            if (decisions.some(({ id }) => id === this.decidedId)) {
                this.said = ""; // it is asked about again
            }
            const known = new Map(this.rows.map((row) => [row.id, row]));
            this.rows = decisions.map((data) => this.merged(known.get(data.id), data));
            Object.assign(this, { total, isLoaded: true, error: null });
        } catch (error) {
            this.error = error;
            return;
        }
        await Promise.all(this.rows.filter((row) => row.isOpen).map((row) => this.read(row)));
    }

    /** What was opened stays open; a question that was asked anew is read anew. */
    merged(row, data) {
        if (!row) {
            const closed = { isOpen: false, isSelected: false, isEdited: false };
            return { ...data, ...closed, question: null, error: null };
        }
        const isSame = row.asked_at === data.asked_at;
        return Object.assign(row, data, isSame ? {} : { question: null });
    }

    async open(row) {
        row.isOpen = true;
        await this.read(row);
    }

    /**
     * The one that a mail or an activity leads to.
     *
     * @param {string|null} id
     */
    async openAsked(id) {
        if (!id) {
            return;
        }
        let row = this.rows.find((one) => one.id === id);
        try {
            if (!row) {
                const { question, ...data } = await this.api.decision(id); // beyond the first of the list
                this.rows = [this.merged(null, data), ...this.rows];
                row = this.rows[0];
                row.question = question;
            }
            await this.open(row);
        } catch (error) {
            this.said = error.message;
        }
    }

    close(row) {
        Object.assign(row, { isOpen: false, isSelected: false, error: null });
    }

    openAll() {
        return Promise.all(this.shown.slice(0, MOST_OPENED).map((row) => this.open(row)));
    }

    /** @param {boolean} [isAnew] it may be another question by now */
    async read(row, isAnew = false) {
        if (row.question && !isAnew) {
            return;
        }
        try {
            const { question } = await this.api.decision(row.id);
            if (!row.question || isAnew) {
                // nobody else has read it meanwhile, and the person has chosen nothing
                Object.assign(row, { question, isSelected: false, isEdited: false });
            }
        } catch (error) {
            if (error.status === 404) {
                this.remove(row);
                this.said = error.message;
            } else {
                row.error = error;
            }
        }
    }

    remove(row) {
        this.gone = this.shown.findIndex(({ id }) => id === row.id);
        this.rows = this.rows.filter(({ id }) => id !== row.id);
        this.total = Math.max(this.total - 1, 0);
        this.removals += 1;
    }

    // Deciding ---------------------------------------------------------------

    /** A form was changed: what is decided together goes as it was asked. */
    edit(row) {
        Object.assign(row, { isEdited: true, isSelected: false });
    }

    /** Its card has sent the decision. */
    async settle(row, decision, error) {
        if (!error) {
            this.said = outcomeOf(row, decision);
            this.decidedId = row.id;
            this.remove(row);
            return;
        }
        if (error.status === 409) {
            row.error = error;
            await this.read(row, true);
        }
    }

    /** On a call of an MCP client, whose card does not send it. */
    async decideClientCall(row, decision) {
        if (this.isBusy) {
            return;
        }
        this.isBusy = true;
        await this.send(row, decision);
        this.isBusy = false;
    }

    /** One after the other: each is decided for itself, and may be another question by now. */
    async decideSelected(decision) {
        if (this.isBusy) {
            return;
        }
        this.isBusy = true;
        const rows = this.selected;
        const done = [];
        for (const row of rows) {
            if (await this.send(row, decision)) {
                done.push(row);
            }
        }
        this.isBusy = false;
        if (done.length > 1) {
            this.said =
                decision === "deny"
                    ? _t("%(count)s calls are denied.", { count: done.length })
                    : _t("%(count)s calls are allowed.", { count: done.length });
        }
    }

    /** @returns {Promise<boolean>} whether it was decided */
    async send(row, decision) {
        row.error = null;
        const { id, review_hash: hash = "" } = row.question;
        try {
            if (row.kind === "client_call") {
                await this.mcpApi.decideCall(id, { decision });
            } else {
                await this.api.decide(row.turn_id, { id, decision, shown: { [id]: hash } });
            }
        } catch (error) {
            row.error = error;
            await this.settle(row, decision, error);
            return false;
        }
        await this.settle(row, decision, null);
        return true;
    }
}
