import { Component, onMounted, useRef, useState } from "@odoo/owl";
import { ConfirmationDialog } from "@web/core/confirmation_dialog/confirmation_dialog";
import { _t } from "@web/core/l10n/translation";
import { useService } from "@web/core/utils/hooks";
import { attempt, RequestError } from "../core/try_again";
import { lockLabel } from "../mcp_servers/lock_label";
import { AssistantForm } from "./assistant_form";
import { AssistantRatings } from "./assistant_ratings";
import { AssistantVersions } from "./assistant_versions";
import { useFocusBack } from "../core/keys";

/** One assistant of a cloud service: its form, versions and ratings. */
export class AssistantCard extends Component {
    static template = "woow_paas_platform.ServiceAssistantCard";
    static components = { AssistantForm, AssistantRatings, AssistantVersions, RequestError };
    static props = {
        assistant: Object,
        providers: Array,
        servers: Array,
        api: Object,
        /** Just added: shown open, with the focus. */
        isOpen: { type: Boolean, optional: true },
        /** (id, values): a promise */
        onChange: Function,
        /** (assistant): as the API has it now */
        onPut: Function,
        /** (id): a promise */
        onRemove: Function,
    };

    lockLabel = lockLabel;

    setup() {
        this.dialog = useService("dialog");
        this.toggle = useRef("toggle");
        this.buttons = useRef("buttons");
        /** shown: "" | "form" | "versions" | "ratings"; isChanged: something was written since it is shown */
        this.state = useState({
            isOpen: Boolean(this.props.isOpen),
            shown: "",
            isChanged: false,
            isBusy: false,
            error: null,
        });
        onMounted(() => this.props.isOpen && this.toggle.el.focus());
        useFocusBack(
            () => this.state.shown === "form",
            () => this.buttons.el?.firstElementChild
        );
    }

    get parts() {
        const parts = [
            { name: "versions", label: _t("Versions"), icon: "fa-code-fork" },
            { name: "ratings", label: _t("Ratings"), icon: "fa-thumbs-o-up" },
        ];
        const edit = { name: "form", label: _t("Edit"), icon: "fa-pencil" };
        return this.props.assistant.lock ? parts : [edit, ...parts];
    }

    get ratings() {
        const { good, bad } = this.props.assistant.ratings;
        return _t("%(good)s good, %(bad)s bad", { good, bad });
    }

    get serverNames() {
        const ids = this.props.assistant.server_ids;
        return this.props.servers
            .filter(({ id }) => ids.includes(id))
            .map(({ name }) => name)
            .join(", ");
    }

    get providerName() {
        const { provider_id: id } = this.props.assistant;
        return this.props.providers.find((one) => one.id === id)?.name || "";
    }

    /** What is written in the form would be lost with it: only its own buttons close it. */
    get isHeld() {
        return this.state.shown === "form" && this.state.isChanged;
    }

    show(name) {
        this.state.shown = this.state.shown === name ? "" : name;
        this.state.isChanged = false;
    }

    switchAssistant(ev) {
        const active = ev.target.checked;
        return attempt(this.state, () => this.props.onChange(this.props.assistant.id, { active }));
    }

    /** Nothing else is opened meanwhile, which would show what was before; the form tells what goes wrong. */
    async save(values) {
        this.state.isBusy = true;
        try {
            await this.props.onChange(this.props.assistant.id, values);
            this.state.shown = "";
        } finally {
            this.state.isBusy = false;
        }
    }

    confirmDelete() {
        const { id, name } = this.props.assistant;
        this.dialog.add(ConfirmationDialog, {
            title: _t("Delete this assistant?"),
            body: _t("“%(name)s” will be deleted. Its chats can be read, but not continued.", {
                name,
            }),
            confirmLabel: _t("Delete"),
            confirmClass: "btn-danger",
            confirm: () => attempt(this.state, () => this.props.onRemove(id)),
            cancel: () => {},
        });
    }
}
