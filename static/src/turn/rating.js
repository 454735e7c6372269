import { Component, onPatched, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/** Characters of the comment. */
const MAX_TEXT = 1000;
let nextId = 1;

/**
 * @typedef {Object} AnswerRating
 * @property {"good"|"bad"} value
 * @property {string|null} reason of a bad one
 * @property {string} text the person's words
 * @property {boolean} share whether administrators may read question and answer
 * @property {boolean} reported to who is responsible for the assistant
 * @property {string|null} seen_at ISO, when an administrator has read it
 * @property {string} reply of an administrator
 */

/** What the person thinks of an answer: good or bad, and if they like why. */
export class Rating extends Component {
    static template = "woow_paas_platform.Rating";
    static props = {
        /** {AnswerRating|null} */
        rating: { type: [Object, { value: null }] },
        /** (values or null): a promise */
        onRate: Function,
    };

    setup() {
        this.details = useRef("details");
        this.reportButton = useRef("report");
        this.opener = null;
        onPatched(() => {
            if (this.opener && !this.state.isOpen) {
                (this.opener.el || this.details.el)?.focus();
                this.opener = null;
            }
        });
        this.id = `o_ai_chat_rating_${nextId++}`;
        this.maxText = MAX_TEXT;
        this.state = useState({
            isOpen: false,
            isReport: false,
            isBusy: false,
            isThanked: false,
            error: "",
        });
        this.form = useState({ reason: "", text: "", share: false });
    }

    get value() {
        return this.props.rating?.value;
    }

    get formLabel() {
        return this.state.isReport ? _t("Report this answer") : _t("Details of your rating");
    }

    get buttons() {
        return [
            { value: "good", label: _t("Good answer"), icon: "fa-thumbs-up" },
            { value: "bad", label: _t("Bad answer"), icon: "fa-thumbs-down" },
        ].map((button) => ({ ...button, isPressed: button.value === this.value }));
    }

    get reasons() {
        return [
            { value: "inaccurate", label: _t("Inaccurate") },
            { value: "incomplete", label: _t("Incomplete") },
            { value: "wrong_tool", label: _t("Wrong tool") },
            { value: "slow", label: _t("Too slow") },
            { value: "harmful", label: _t("Harmful") },
            { value: "other", label: _t("Other") },
        ];
    }

    /** A rating that is given once more is taken back. */
    async press(value) {
        const isTaken = value === this.value;
        if (await this.rate(isTaken ? null : { value })) {
            this.state.isThanked = false;
            this.show(value === "bad" && !isTaken);
        }
    }

    toggle() {
        this.show(this.state.isReport || !this.state.isOpen);
    }

    toggleReport() {
        this.show(!this.state.isReport, true);
    }

    show(isOpen, isReport = false) {
        Object.assign(this.state, { isOpen, isReport: isOpen && isReport });
        const { reason, text = "", share = false } = this.props.rating || {};
        Object.assign(this.form, { reason: reason || "", text, share });
    }

    /** The keyboard goes on where the form was opened. */
    close() {
        this.opener = this.state.isReport ? this.reportButton : this.details;
        this.show(false);
    }

    async send() {
        const { reason, text, share } = this.form;
        const report = this.state.isReport ? { report: true } : {};
        if (await this.rate({ value: "bad", reason: reason || null, text, share, ...report })) {
            this.state.isThanked = true;
            this.close();
        }
    }

    /** @returns {Promise<boolean>} whether it was kept */
    async rate(values) {
        if (this.state.isBusy) {
            return false;
        }
        Object.assign(this.state, { isBusy: true, error: "" });
        try {
            await this.props.onRate(values);
            return true;
        } catch (error) {
            this.state.error = error.message;
            return false;
        } finally {
            this.state.isBusy = false;
        }
    }
}
