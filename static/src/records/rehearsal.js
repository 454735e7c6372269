import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { TryAgain } from "../core/try_again";
import { entriesOf, firstLines } from "./card_lines";
import { valueText } from "./record_values";

/** Characters of a message, or of a value, before it is folded. */
const TEXT = 600;
/** Internal notes that nobody is told of, before all of them are asked for. */
const NOTES = 2;

const KINDS = {
    changed: _t("Changes"),
    created: _t("Creates"),
    deleted: _t("Deletes for good"),
};

/** Of what is counted only. */
const FURTHER = {
    changed: _t("Also changes (details not shown)"),
    created: _t("Also creates (details not shown)"),
    deleted: _t("Also deletes for good (details not shown)"),
};

function outwardSentence(kind, what) {
    if (kind === "request") {
        return _t("Sends a request to %(address)s as soon as it is saved.", { address: what });
    }
    if (kind === "program") {
        return _t("Makes a PDF with another program (%(name)s).", { name: what });
    }
    if (kind === "uncounted") {
        return _t(
            "What the database itself changes with it is unknown: it does not count that (%(setting)s is off).",
            { setting: what }
        );
    }
    return _t("Runs more code as soon as it is saved (%(name)s).", { name: what });
}

/** How often each of these is there, the kind and the model being said. */
function counts(entries) {
    const found = new Map();
    for (const { kind, label, count = 1 } of entries) {
        const key = `${KINDS[kind]}: ${label}`;
        found.set(key, (found.get(key) || 0) + count);
    }
    return [...found].map(([key, count]) => `${key} × ${count}`).join(" · ");
}

/** Of records that are counted only, what the person may know of them. */
function countedSentence({ kind, label, count, listed = 0, names = [] }) {
    const rest = count - listed;
    const said = [...names, ...(names.length && names.length < rest ? ["…"] : [])].join(", ");
    const sentence = `${FURTHER[kind]}: ${label} × ${rest}`;
    return said ? _t("%(sentence)s (%(names)s)", { sentence, names: said }) : sentence;
}

/** What a change of records would do, found out in a transaction that was rolled back. */
export class Rehearsal extends Component {
    static template = "woow_paas_platform.Rehearsal";
    static components = { TryAgain };
    static props = {
        /** See docs/api.md, `rehearsal`. */
        rehearsal: Object,
        /** Of the call. */
        model: { type: String, optional: true },
        /** (number of records that are there) => {records, total}: those that the question has no room for. */
        loadFurther: { type: Function, optional: true },
    };

    setup() {
        this.state = useState({
            whole: {},
            areAllShown: false,
            areNotesShown: false,
            further: [],
            isLoading: false,
            error: null,
        });
    }

    /** Records that are created, changed and deleted, each with what becomes of its fields. */
    get entries() {
        const further = this.state.further.map((record, index) => ({
            ...record,
            fields: record.fields || [],
            more: record.more || 0,
            key: `further-${index}`,
            isFurther: true,
        }));
        return [...entriesOf(this.props.rehearsal, this.props.model), ...further];
    }

    /** How many records only a page of their own shows, which was not asked for yet. */
    get furtherCount() {
        const { others = [] } = this.props.rehearsal;
        const listed = others.reduce((sum, one) => sum + (one.listed || 0), 0);
        return this.props.loadFurther ? Math.max(listed - this.state.further.length, 0) : 0;
    }

    get isNothing() {
        const { messages = [], numbers = [], outward = [], hidden } = this.props.rehearsal;
        return ![...this.entries, ...messages, ...numbers, ...outward].length && !hidden;
    }

    /** About a dozen lines until all records are asked for: each entry with the fields that are shown of it. */
    get shown() {
        const first = firstLines(this.entries);
        const counts = new Map(first.map(({ entry, count }) => [entry.key, count]));
        const entries = this.state.areAllShown ? this.entries : first.map(({ entry }) => entry);
        return entries.map((entry) => {
            const isWhole = entry.isFurther || this.state.whole[entry.key];
            const count = counts.get(entry.key) ?? entry.first;
            const fields = isWhole ? entry.fields : entry.fields.slice(0, count);
            return { entry, fields, isCut: fields.length < entry.fields.length };
        });
    }

    kindSentence({ kind }) {
        return KINDS[kind];
    }

    get allRecordsLabel() {
        return _t("Show all %(count)s records", { count: this.entries.length + this.furtherCount });
    }

    get furtherLabel() {
        return _t("Show %(count)s more records", { count: this.furtherCount });
    }

    /** What the rest of the records is, by kind. */
    get restSentence() {
        const { others = [] } = this.props.rehearsal;
        const loaded = (other) =>
            this.state.further.filter(
                ({ kind, model }) => kind === other.kind && model === other.model
            ).length;
        const further = others
            .filter(({ listed, unknown }) => listed && !unknown)
            .map((one) => ({ ...one, count: one.listed - loaded(one) }));
        return counts([
            ...this.entries.slice(this.shown.length),
            ...further.filter(({ count }) => count > 0),
        ]);
    }

    showAll() {
        this.state.areAllShown = true;
        if (this.furtherCount) {
            this.load();
        }
    }

    async load() {
        this.state.isLoading = true;
        this.state.error = null;
        try {
            const { records } = await this.props.loadFurther(this.state.further.length);
            this.state.further.push(...records);
        } catch (error) {
            this.state.error = error;
        } finally {
            this.state.isLoading = false;
        }
    }

    allLabel({ fields }) {
        return _t("Show all %(count)s fields", { count: fields.length });
    }

    moreFields({ more }) {
        return _t("and %(count)s more fields that are not shown", { count: more });
    }

    /** The beginning of a long text, until all of it is asked for. */
    beginning(key, text) {
        return this.isFolded(key, text) ? `${text.slice(0, TEXT)}…` : text;
    }

    isFolded(key, text) {
        return !this.state.whole[key] && text.length > TEXT;
    }

    restOfText(text) {
        return _t("Show %(count)s more characters", { count: text.length - TEXT });
    }

    text(value, type) {
        return valueText(value, type) || _t("nothing");
    }

    /** What reaches somebody; notes, which reach nobody, stand behind what is changed. */
    get messages() {
        return this.saidBy((isNote) => !isNote);
    }

    get allNotes() {
        return this.saidBy((isNote) => isNote);
    }

    get notes() {
        return this.state.areNotesShown ? this.allNotes : this.allNotes.slice(0, NOTES);
    }

    get allNotesLabel() {
        return _t("Show all %(count)s internal notes", { count: this.allNotes.length });
    }

    saidBy(isWanted) {
        const { messages = [] } = this.props.rehearsal;
        return messages
            .map((message, index) => ({ ...message, key: `message-${index}` }))
            .filter(({ kind, recipients }) => isWanted(kind === "note" && !recipients.length));
    }

    messageTitle({ kind, recipients, record }) {
        if (kind === "mail") {
            return _t("Sends an e-mail to %(people)s", { people: recipients.join(", ") });
        }
        if (kind === "note") {
            return _t("Adds an internal note to %(record)s", { record });
        }
        return recipients.length
            ? _t("Sends a message on %(record)s to %(people)s", {
                  record,
                  people: recipients.join(", "),
              })
            : _t("Posts a message on %(record)s", { record });
    }

    messageFiles({ files }) {
        return _t("Attached: %(files)s", { files: files.join(", ") });
    }

    get numbers() {
        return _t("Uses numbers such as %(numbers)s", {
            numbers: this.props.rehearsal.numbers.join(", "),
        });
    }

    /** What is counted only, by kind and model; as one number of what is older. */
    get counted() {
        const { others, hidden } = this.props.rehearsal;
        if (!others) {
            return hidden
                ? [
                      _t("It also affects %(count)s more records that are not shown.", {
                          count: hidden,
                      }),
                  ]
                : [];
        }
        return others
            .filter((one) => !one.unknown && !one.sensitive && one.count > (one.listed || 0))
            .map(countedSentence);
    }

    /** Of what is counted only, by what somebody signs in, is reached or is paid. */
    get sensitive() {
        const { others = [] } = this.props.rehearsal;
        return others
            .filter((one) => one.sensitive && !one.unknown && one.count > (one.listed || 0))
            .map(countedSentence);
    }

    /** What nobody can know in advance. */
    get unknown() {
        const { others = [], outward = [] } = this.props.rehearsal;
        return [
            ...outward.map(({ kind, what }) => outwardSentence(kind, what)),
            ...others
                .filter(({ unknown }) => unknown)
                .map(({ kind, label, count }) =>
                    _t("Writes to the database directly; what it changes is unknown: %(list)s", {
                        list: `${KINDS[kind]}: ${label} × ${count}`,
                    })
                ),
        ];
    }
}

/** The change that a call asks about; one that is asked about again stands beside the one that was allowed. */
export class RehearsalQuestion extends Component {
    static template = "woow_paas_platform.RehearsalQuestion";
    static components = { Rehearsal };
    static props = Rehearsal.props;

    setup() {
        this.id = uniqueId("o_ai_chat_rehearsal_");
    }
}
