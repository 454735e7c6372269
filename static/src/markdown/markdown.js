import { Component, markup, useEffect, useRef } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { downloadCsv } from "../core/csv";
import { linkCitations } from "../records/citations";
import { highlight } from "./highlight";
import { CopyButton } from "./copy_button";

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*\n?/;

/** Code as a block of its own, with its language, colours and a button that copies it. */
export class CodeBlock extends Component {
    static template = "woow_paas_platform.CodeBlock";
    static components = { CopyButton };
    static props = {
        code: String,
        language: { type: String, optional: true },
        /** While it grows it has no colours. */
        isOpen: { type: Boolean, optional: true },
    };

    setup() {
        this.code = useRef("code");
        useEffect(
            () => {
                this.draw();
            },
            () => [this.props.code, this.props.isOpen]
        );
    }

    get copyLabel() {
        return _t("Copy code");
    }

    async draw() {
        const { code, language, isOpen } = this.props;
        this.code.el.textContent = code;
        const nodes = isOpen ? null : await highlight(code, language);
        if (nodes && this.code.el && code === this.props.code) {
            this.code.el.replaceChildren(...nodes);
        }
    }
}

/** A table that scrolls by itself, and a button that keeps it as a file. */
export class TableBlock extends Component {
    static template = "woow_paas_platform.TableBlock";
    static props = { html: Object };

    setup() {
        this.table = useRef("table");
    }

    download() {
        const { rows } = this.table.el.querySelector("table");
        const texts = ({ cells }) => [...cells].map(({ textContent }) => textContent.trim());
        downloadCsv("table", [...rows].map(texts));
    }
}

/**
 * Cuts the HTML of the server into pieces: code and tables get a frame of ours, all else is shown as it came.
 *
 * @param {string} html
 * @param {import("../records/citations").Citations|null} [citations] what becomes links
 * @returns {{type: "html"|"code"|"table", html?: Object, code?: string, language?: string}[]}
 */
export function htmlPieces(html, citations) {
    const { body } = new DOMParser().parseFromString(html, "text/html");
    if (citations) {
        linkCitations(body, citations);
    }
    const pieces = [];
    for (const node of body.childNodes) {
        const code = node.nodeName === "PRE" && node.firstElementChild;
        if (code && code.nodeName === "CODE") {
            const language = code.className.match(/language-(\S+)/)?.[1] || "";
            pieces.push({ type: "code", code: code.textContent.replace(/\n$/, ""), language });
        } else {
            const type = node.nodeName === "TABLE" ? "table" : "html";
            const shown = node.outerHTML ?? node.textContent.trim();
            if (shown) {
                pieces.push({ type, html: node.outerHTML ? markup(shown) : shown });
            }
        }
    }
    return pieces;
}

/** The server renders and sanitises each block once; nothing else is ever taken as HTML. */
export class Markdown extends Component {
    static template = "woow_paas_platform.Markdown";
    static components = { CodeBlock, TableBlock };
    static props = {
        html: String,
        citations: { type: [Object, { value: null }], optional: true },
    };

    get pieces() {
        const { html, citations } = this.props;
        if (this.html !== html || this.citations !== citations) {
            Object.assign(this, { html, citations, cut: htmlPieces(html, citations) });
        }
        return this.cut;
    }
}

/** A block that still grows: plain text, or code as soon as its fence says so. */
export class OpenBlock extends Component {
    static template = "woow_paas_platform.OpenBlock";
    static components = { CodeBlock };
    static props = { text: String };

    get code() {
        const fence = this.props.text.match(FENCE);
        return fence && { language: fence[2], text: this.props.text.slice(fence[0].length) };
    }
}
