import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { valueText } from "./record_values";

/** Lines of all records together, and fields of the first and of each other, before "Show all" is asked for. */
const LINES = 14;
const FIELDS = 6;
const FIELDS_OF_OTHERS = 4;
/** Characters of a message, or of a value, before it is folded. */
const TEXT = 600;

const KINDS = {
    changed: _t("Changes"),
    created: _t("Creates"),
    deleted: _t("Deletes for good"),
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

/** What a change of records would do, found out in a transaction that was rolled back. */
export class Rehearsal extends Component {
    static template = "woow_paas_platform.Rehearsal";
    static props = {
        /** See docs/api.md, `rehearsal`. */
        rehearsal: Object,
    };

    setup() {
        this.state = useState({ whole: {}, areAllShown: false });
    }

    /** Records that are created, changed and deleted, each with what becomes of its fields. */
    get entries() {
        const { changes = [], created = [], deleted = [] } = this.props.rehearsal;
        const entry = (kind) => (record, index) => ({
            ...record,
            fields: record.fields || [],
            first: record.first || FIELDS,
            more: record.more || 0,
            kind,
            key: `${kind}-${index}`,
            sentence: KINDS[kind],
        });
        return [
            ...created.map(entry("created")),
            ...changes.map(entry("changed")),
            ...deleted.map(entry("deleted")),
        ].map((one, index) => ({ ...one, limit: index ? FIELDS_OF_OTHERS : FIELDS }));
    }

    get isNothing() {
        const { messages = [], numbers = [], outward = [], hidden } = this.props.rehearsal;
        return ![...this.entries, ...messages, ...numbers, ...outward].length && !hidden;
    }

    /** About a dozen lines: the first record with what says most, then as many as there is room for. */
    get firstEntries() {
        if (this.state.areAllShown) {
            return this.entries;
        }
        let room = LINES;
        return this.entries.filter((entry, index) => {
            const isShown = index === 0 || room > 0;
            room -= 1 + Math.ceil(this.firstFields(entry).length / 2);
            return isShown;
        });
    }

    get allRecordsLabel() {
        return _t("Show all %(count)s records", { count: this.entries.length });
    }

    /** What the rest of the records is, by kind. */
    get restSentence() {
        const counts = new Map();
        for (const { sentence, label } of this.entries.slice(this.firstEntries.length)) {
            const key = `${sentence}: ${label}`;
            counts.set(key, (counts.get(key) || 0) + 1);
        }
        return [...counts].map(([key, count]) => `${key} × ${count}`).join(" · ");
    }

    firstFields({ fields, first, limit }) {
        return fields.slice(0, Math.min(first, limit));
    }

    shown(entry) {
        return this.state.whole[entry.key] ? entry.fields : this.firstFields(entry);
    }

    isCut(entry) {
        return this.shown(entry).length < entry.fields.length;
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
        const said = others
            .filter(({ unknown }) => !unknown)
            .map(({ kind, label, count }) => `${KINDS[kind]}: ${label} × ${count}`);
        return said.length
            ? [_t("Not shown one by one: %(list)s", { list: said.join(" · ") })]
            : [];
    }

    /** What nobody can know in advance. */
    get unknown() {
        const { others = [], outward = [] } = this.props.rehearsal;
        return [
            ...outward.map(({ kind, what }) => outwardSentence(kind, what)),
            ...others
                .filter(({ unknown }) => unknown)
                .map(({ kind, label, count }) =>
                    _t("Writes to the database directly, what cannot be told: %(list)s", {
                        list: `${KINDS[kind]}: ${label} × ${count}`,
                    })
                ),
        ];
    }
}
