import { Component, onMounted, useRef, useState } from "@odoo/owl";
import { uniqueId } from "@web/core/utils/functions";
import { attempt, RequestError } from "../core/try_again";
import { pressedKey } from "../core/keys";

/** Lines and characters of suggested questions that a chat shows. */
const MAX_STARTERS = 4;
const MAX_LINE = 200;
const MAX_NAME = 100;
const MAX_INSTRUCTIONS = 4000;

const linesOf = (text) =>
    text
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);

/** What the service's owner says of an assistant; a new one begins with all servers of the service. */
export class AssistantForm extends Component {
    static template = "woow_paas_platform.ServiceAssistantForm";
    static components = { RequestError };
    static props = {
        /** Left out: a new one. */
        assistant: { type: Object, optional: true },
        /** [{id, name}] */
        providers: Array,
        /** [{id, name, scope, active}] */
        servers: Array,
        /** Resolves when it is saved; rejects with the sentence to show. */
        onSave: Function,
        onCancel: Function,
    };

    setup() {
        this.id = uniqueId("o_woow_assistant_form_");
        this.first = useRef("first");
        this.most = { MAX_NAME, MAX_LINE, MAX_INSTRUCTIONS, MAX_STARTERS };
        this.known = this.valuesOf(this.props.assistant);
        this.values = useState({ ...this.known, server_ids: [...this.known.server_ids], note: "" });
        this.state = useState({ isBusy: false, error: "" });
        this.isChanged = false;
        onMounted(() => this.first.el.focus());
    }

    valuesOf(assistant) {
        const own = this.props.servers.filter(({ scope }) => scope === "user");
        return {
            name: assistant?.name || "",
            description: assistant?.description || "",
            greeting: assistant?.greeting || "",
            instructions: assistant?.instructions || "",
            starters: (assistant?.starters || []).join("\n"),
            provider_id: String(
                assistant ? assistant.provider_id || "" : this.props.providers[0].id
            ),
            server_ids: assistant ? assistant.server_ids : own.map(({ id }) => id),
        };
    }

    /** `[value, label]` of the options. */
    get providers() {
        return this.props.providers.map(({ id, name }) => [String(id), name]);
    }

    toggleServer(id, isOn) {
        const others = this.values.server_ids.filter((one) => one !== id);
        this.values.server_ids = isOn ? [...others, id] : others;
    }

    /** What the API takes: what differs from what is known, of a new one all that was entered. */
    get changes() {
        const changes = {};
        for (const [name, value] of Object.entries(this.values)) {
            const before = this.props.assistant ? this.known[name] : "";
            if (JSON.stringify(value) !== JSON.stringify(before ?? "")) {
                changes[name] = value;
            }
        }
        if ("starters" in changes) {
            changes.starters = linesOf(changes.starters);
        }
        if ("provider_id" in changes) {
            changes.provider_id = Number(changes.provider_id);
        }
        return changes;
    }

    save() {
        return attempt(this.state, () => this.props.onSave(this.changes));
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape" && !this.isChanged) {
            this.props.onCancel();
        }
    }
}
