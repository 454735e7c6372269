import { Component, onMounted, onWillStart, useRef, useState } from "@odoo/owl";
import { ConfirmationDialog } from "@web/core/confirmation_dialog/confirmation_dialog";
import { _t } from "@web/core/l10n/translation";
import { useService } from "@web/core/utils/hooks";
import { formatMomentFull } from "../core/format";
import { RequestError } from "../core/try_again";
import { ServerForm } from "../server_forms/server_form";
import { lockLabel } from "./lock_label";
import { TemplateForm } from "../server_forms/template_form";
import { trustLevels } from "../server_forms/trust_levels";
import { wantsSignIn } from "./server_list";
import { badge, stateClass, stateLabel } from "./server_state";
import { TestSteps } from "./test_steps";
import { ToolList } from "./tool_list";
import { useFocusBack } from "../core/keys";

/** One server: how it is, what it offers, and everything that can be done with it. */
export class ServerCard extends Component {
    static template = "woow_paas_platform.McpServerCard";
    static components = { RequestError, ServerForm, TemplateForm, TestSteps, ToolList };
    static props = {
        server: Object,
        list: Object,
        /** Just added: shown open, with the focus. */
        isOpen: { type: Boolean, optional: true },
        onRemoved: Function,
    };

    lockLabel = lockLabel;

    setup() {
        this.dialog = useService("dialog");
        /** busy: "" | "test" | "sync" | "switch"; isChanged: something was written since the form is open */
        this.state = useState({
            isOpen: false,
            isEditing: false,
            isChanged: false,
            busy: "",
            steps: null,
            error: "",
        });
        this.toggle = useRef("toggle");
        this.editButton = useRef("edit");
        onWillStart(() => this.props.isOpen && this.open());
        onMounted(() => this.props.isOpen && this.toggle.el.focus());
        useFocusBack(
            () => this.state.isEditing,
            () => this.editButton.el
        );
    }

    get needsSignIn() {
        return wantsSignIn(this.props.server);
    }

    get stateLabel() {
        const { server } = this.props;
        if (!server.active) {
            return _t("Off");
        }
        if (this.needsSignIn) {
            return _t("Sign-in needed");
        }
        if (this.isFirstSync) {
            return _t("Connecting…");
        }
        if (this.waits) {
            return _t("%(count)s to review", { count: server.review_count });
        }
        return stateLabel(server.state);
    }

    get stateClass() {
        const { server } = this.props;
        if (!server.active) {
            return badge("secondary");
        }
        if (this.needsSignIn || this.waits) {
            return badge("warning");
        }
        return stateClass(server.state);
    }

    /** Its tools wait for the person; what is worse is told first. */
    get waits() {
        const { state, review_count: count } = this.props.server;
        return Boolean(count) && ["connected", "degraded"].includes(state);
    }

    /** It is asked for the first time, which may take as long as its program takes to start. */
    get isFirstSync() {
        return this.props.list.isAsking(this.props.server);
    }

    get toolsLabel() {
        const { server } = this.props;
        return _t("%(on)s of %(all)s tools", {
            on: server.active_tool_count,
            all: server.tool_count,
        });
    }

    /** `[sentence, classes]` of what was found in its tools, or decided about them. */
    get marks() {
        const { refused_count: refused, warned_count: warned } = this.props.server;
        return [
            refused && [_t("%(count)s refused", { count: refused }), badge("danger")],
            warned && [_t("%(count)s suspicious", { count: warned }), badge("warning")],
        ].filter(Boolean);
    }

    get readAt() {
        return formatMomentFull(this.props.server.last_sync);
    }

    get trust() {
        return new Map(trustLevels()).get(this.props.server.trust_level);
    }

    async open() {
        this.state.isOpen = true;
        await this.attempt("", () => this.props.list.loadTools(this.props.server.id));
    }

    edit() {
        Object.assign(this.state, { isEditing: true, isChanged: false });
    }

    /** What is written in the form would be lost with it: only its own buttons close it. */
    get isHeld() {
        return this.state.isEditing && this.state.isChanged;
    }

    toggleOpen() {
        return this.state.isOpen ? (this.state.isOpen = false) : this.open();
    }

    /** What goes wrong is told in the card. */
    async attempt(busy, action) {
        Object.assign(this.state, { busy, error: "" });
        try {
            await action();
        } catch (error) {
            this.state.error = error;
        }
        this.state.busy = "";
    }

    switchServer(ev) {
        const active = ev.target.checked;
        return this.attempt("switch", () => this.props.list.toggle(this.props.server, active));
    }

    switchTool(tool, active) {
        return this.attempt("switch", () =>
            this.props.list.changeTool(this.props.server, tool, { active })
        );
    }

    restrictTool(tool, policy) {
        return this.attempt("switch", () =>
            this.props.list.changeTool(this.props.server, tool, { approval_policy: policy })
        );
    }

    reviewTool(tool, review) {
        return this.attempt("switch", () =>
            this.props.list.changeTool(this.props.server, tool, {
                review,
                review_hash: tool.review_hash,
            })
        );
    }

    test() {
        this.state.steps = null;
        return this.attempt("test", async () => {
            this.state.steps = await this.props.list.test(this.props.server.id);
        });
    }

    sync() {
        this.state.steps = null;
        return this.attempt("sync", () => this.props.list.sync(this.props.server.id));
    }

    confirmSignOut() {
        const { server, list } = this.props;
        const { name } = server;
        const isOfAll = server.authorization === "oauth_server";
        this.dialog.add(ConfirmationDialog, {
            title: _t("Sign out of this server?"),
            body: isOfAll
                ? _t("No chat can use “%(name)s” until somebody signs in again.", { name })
                : _t("Your chats cannot use “%(name)s” until you sign in again.", { name }),
            confirmLabel: _t("Sign out"),
            confirmClass: "btn-danger",
            confirm: () => this.attempt("switch", () => list.signOut(server)),
            cancel: () => {},
        });
    }

    async save(values) {
        await this.props.list.change(this.props.server.id, values);
        Object.assign(this.state, { isEditing: false, steps: null });
    }

    saveTemplate({ template: _template, ...values }) {
        return this.save(values);
    }

    confirmDelete() {
        const { server, list } = this.props;
        this.dialog.add(ConfirmationDialog, {
            title: _t("Delete this MCP server?"),
            body: _t("“%(name)s” and its tools will be deleted. Chats can no longer use them.", {
                name: server.name,
            }),
            confirmLabel: _t("Delete"),
            confirmClass: "btn-danger",
            confirm: () =>
                this.attempt("switch", async () => {
                    await list.remove(server.id);
                    this.props.onRemoved();
                }),
            cancel: () => {},
        });
    }
}
