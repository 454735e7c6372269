import { Component, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { downloadCsv } from "../core/csv";
import { capText, parseStructure, prettyValue } from "../core/format";
import { resultLinks, resultTable } from "./result_table";
import { CopyButton } from "../markdown/copy_button";

/** What is shown before "Show all" is asked for. */
const CAP = { maxLines: 200, maxChars: 20000 };

/** What a tool answered: a table where it is one, links to its resources, else text. */
export class ToolResult extends Component {
    static template = "woow_paas_platform.ToolResult";
    static components = { CopyButton };
    static props = {
        call: Object,
    };

    setup() {
        this.state = useState({ isWhole: false, isRaw: false });
    }

    get label() {
        return this.props.call.isError ? _t("Error") : _t("Result");
    }

    get copyLabel() {
        return _t("Copy result");
    }

    /** Where text and structure differ, the structure is the one for programs. */
    get data() {
        const { result } = this.props.call;
        const hasBoth =
            result && typeof result === "object" && "structured" in result && "text" in result;
        return hasBoth ? result.structured : parseStructure(result);
    }

    get table() {
        return this.props.call.isError ? null : resultTable(this.data);
    }

    get links() {
        return resultLinks(this.whole);
    }

    get whole() {
        const { result } = this.props.call;
        return prettyValue(result?.text && "structured" in result ? result.text : result);
    }

    get shown() {
        return this.state.isWhole ? { text: this.whole, isCut: false } : capText(this.whole, CAP);
    }

    get rawLabel() {
        return this.state.isRaw ? _t("Show as a table") : _t("Show as text");
    }

    get csvLabel() {
        return _t("Download CSV");
    }

    /** All rows, also those that the table leaves out. */
    download() {
        const { columns, rows } = resultTable(this.data, Infinity);
        downloadCsv(this.props.call.tool || "table", columns.length ? [columns, ...rows] : rows);
    }

    cell(value) {
        return value === null ? "" : String(value);
    }

    showAllLabel({ lines }) {
        return lines > CAP.maxLines
            ? _t("Show all %(count)s lines", { count: lines })
            : _t("Show all");
    }
}
