import { Component, useEffect, useRef, useState } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { uniqueId } from "@web/core/utils/functions";
import { formatSize } from "../core/format";
import { RequestError } from "../core/try_again";
import { CompletedForm } from "./completed_form";
import { pressedKey } from "../core/keys";

/** Where a resource of a server is found and chosen, above the place where the person writes. */
export class ResourcePicker extends Component {
    static template = "woow_paas_platform.ResourcePicker";
    static components = { CompletedForm, RequestError };
    static props = {
        /** See ResourceCenter. */
        center: Object,
    };

    setup() {
        this.id = uniqueId("o_ai_chat_resources_");
        this.search = useRef("search");
        this.list = useRef("list");
        this.state = useState({ index: 0 });
        useEffect(
            (el) => el?.focus(),
            () => [this.search.el]
        );
        useEffect(
            () => {
                const active = this.list.el?.querySelector("[aria-selected=true]");
                active?.scrollIntoView({ block: "nearest" });
            },
            () => [this.state.index]
        );
    }

    get title() {
        return this.props.center.template?.name || _t("Attach from a server");
    }

    get submitLabel() {
        return _t("Attach");
    }

    get active() {
        return this.props.center.shown[this.state.index];
    }

    isActive(entry) {
        return entry.key === this.active?.key;
    }

    about({ uri, mimetype, size }) {
        return [uri, mimetype, formatSize(size)].filter(Boolean).join(" · ");
    }

    optionId({ key }) {
        return `${this.id}_${key}`;
    }

    get status() {
        const { isLoading, reading, search, matching, entries } = this.props.center;
        if (isLoading) {
            return _t("Loading resources…");
        }
        if (reading) {
            return _t("Reading “%(name)s”…", { name: reading.name });
        }
        if (search) {
            return matching.length ? "" : _t("No results.");
        }
        return entries.length ? "" : _t("The servers of this chat have no resources.");
    }

    get moreLabel() {
        const { matching, shown } = this.props.center;
        return _t("Show more (%(count)s left)", { count: matching.length - shown.length });
    }

    get isBusy() {
        return Boolean(this.props.center.isLoading || this.props.center.reading);
    }

    onInput(ev) {
        this.state.index = 0;
        this.props.center.find(ev.target.value);
    }

    onSearchKeydown(ev) {
        const { center } = this.props;
        const step = { ArrowDown: 1, ArrowUp: -1 }[ev.key];
        if (step && center.shown.length) {
            ev.preventDefault();
            const last = center.shown.length - 1;
            if (step > 0 && this.state.index === last) {
                center.showMore();
            }
            this.state.index = Math.min(
                Math.max(this.state.index + step, 0),
                center.shown.length - 1
            );
        } else if (pressedKey(ev) === "Enter") {
            ev.preventDefault();
            if (this.active) {
                center.choose(this.active);
            }
        }
    }

    complete(name, value, others) {
        const { center } = this.props;
        return center.complete(center.template, name, value, others);
    }

    attach(values) {
        this.props.center.attach(this.props.center.template, values);
    }

    /** One step back: from a template to the list, from the list to the message. */
    onKeydown(ev) {
        if (pressedKey(ev) === "Escape") {
            ev.stopPropagation();
            const { center } = this.props;
            center.template ? center.back() : center.dismiss();
        }
    }
}
