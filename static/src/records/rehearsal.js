import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { valueText } from "./record_values";

/** Fields of a record, and records, before "Show all" is asked for. */
const SHOWN = 6;
const SHOWN_RECORDS = 4;

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

    /** Records that are changed, created and deleted, each with what becomes of its fields. */
    get entries() {
        const { changes = [], created = [], deleted = [] } = this.props.rehearsal;
        const entry = (kind, sentence) => (record, index) => ({
            ...record,
            fields: record.fields || [],
            kind,
            key: `${kind}-${index}`,
            sentence,
        });
        return [
            ...changes.map(entry("changed", _t("Changes"))),
            ...created.map(entry("created", _t("Creates"))),
            ...deleted.map(entry("deleted", _t("Deletes for good"))),
        ];
    }

    get isNothing() {
        const { messages = [], numbers = [], hidden } = this.props.rehearsal;
        return !this.entries.length && !messages.length && !numbers.length && !hidden;
    }

    get firstEntries() {
        return this.state.areAllShown ? this.entries : this.entries.slice(0, SHOWN_RECORDS);
    }

    get allRecordsLabel() {
        return _t("Show all %(count)s records", { count: this.entries.length });
    }

    shown(entry) {
        return this.state.whole[entry.key] ? entry.fields : entry.fields.slice(0, SHOWN);
    }

    isCut(entry) {
        return !this.state.whole[entry.key] && entry.fields.length > SHOWN;
    }

    allLabel({ fields }) {
        return _t("Show all %(count)s fields", { count: fields.length });
    }

    text(value) {
        return valueText(value) || _t("nothing");
    }

    messageTitle({ kind, recipients, record }) {
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

    get numbers() {
        return _t("Uses numbers such as %(numbers)s", {
            numbers: this.props.rehearsal.numbers.join(", "),
        });
    }

    get hidden() {
        return _t("It also affects %(count)s more records that are not shown.", {
            count: this.props.rehearsal.hidden,
        });
    }
}
