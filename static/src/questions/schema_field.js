import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { parseJson, writeJson } from "../core/format";
import { hiddenText } from "./visible_text";

const PROBLEMS = {
    required: _t("Fill in this field."),
    text: _t("Enter some text."),
    number: _t("Enter a number."),
    integer: _t("Enter a whole number."),
    boolean: _t("Choose yes or no."),
    choice: _t("Choose an option from the list."),
    json: _t("Enter valid JSON."),
    too_short: _t("This is too short."),
    too_long: _t("This is too long."),
    too_small: _t("This number is too small."),
    too_large: _t("This number is too large."),
    too_few: _t("Select more options."),
    too_many: _t("Select fewer options."),
    email: _t("Enter an email address."),
    uri: _t("Enter a web address such as https://example.com."),
    date: _t("Choose a date."),
    "date-time": _t("Choose a date and time."),
};

function withoutIndentation(text) {
    try {
        return writeJson(parseJson(text));
    } catch {
        return text;
    }
}

/** One field of a form that is made from a schema; what stands in it is a text, see argument_form. */
export class SchemaField extends Component {
    static template = "woow_paas_platform.SchemaField";
    static props = {
        field: Object,
        id: String,
        text: String,
        /** A code of PROBLEMS, or one that is not known. */
        problem: { type: String, optional: true },
        isLong: { type: Boolean, optional: true },
        inputType: { type: String, optional: true },
        onChange: Function,
    };
    static defaultProps = { problem: "", isLong: false, inputType: "text" };

    get problem() {
        const { problem } = this.props;
        return problem && (PROBLEMS[problem] || _t("Invalid value."));
    }

    /** What stands where nothing was chosen or entered. */
    get emptyLabel() {
        const { kind, default: value, options, labels } = this.props.field;
        if (value === undefined || value === "" || typeof value === "object") {
            return _t("Not set");
        }
        const chosen = kind === "enum" ? labels[options.indexOf(value)] : undefined;
        const yesOrNo = kind === "boolean" ? (value ? _t("Yes") : _t("No")) : undefined;
        return _t("Not set (default: %(value)s)", { value: yesOrNo ?? chosen ?? String(value) });
    }

    get placeholder() {
        return this.props.field.default === undefined ? undefined : this.emptyLabel;
    }

    /** What stands in the field, where it does not show all of that. */
    get hidden() {
        const { field, text } = this.props;
        const isJson = field.kind === "json";
        return isJson || field.kind === "text"
            ? hiddenText(isJson ? withoutIndentation(text) : text)
            : "";
    }

    get options() {
        const chosen = this.props.text.split(",");
        return this.props.field.options.map((option, index) => ({
            value: String(index),
            label: this.props.field.labels[index] ?? String(option),
            isChosen: chosen.includes(String(index)),
        }));
    }

    onInput(ev) {
        this.props.onChange(this.props.field, ev.target.value);
    }

    onToggle(value, ev) {
        const chosen = this.options
            .filter((option) => (option.value === value ? ev.target.checked : option.isChosen))
            .map((option) => option.value);
        this.props.onChange(this.props.field, chosen.join(","));
    }
}
