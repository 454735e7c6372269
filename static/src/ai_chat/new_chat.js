import { Component } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { conversationTitle, formatMoment, formatRecords, formatTools } from "../core/format";
import { TryAgain } from "../core/try_again";
import { Face } from "../thread/face";

/** Suggested questions that are shown at once. */
const MAX_STARTERS = 4;

/** What stands in the place of the messages before the first one: with whom, and about what. */
export class NewChat extends Component {
    static template = "woow_paas_platform.NewChat";
    static components = { Face, TryAgain };
    static props = {
        /** See NewChatState. */
        state: Object,
        language: String,
        /** [{code, name}]: those to choose from; none where nobody is asked. */
        languages: Array,
        /** Called with the code of a language. */
        onLanguage: Function,
        /** Asks a suggested question. */
        onStart: Function,
        /** Called with the id of a default prompt. */
        onPrompt: Function,
        /** That of the person about the record, if there is one. */
        folder: { type: Object, optional: true },
        /** Whether the chat is begun in a folder. */
        isInFolder: Boolean,
        /** Called with the record: opens its folder. */
        onFolder: Function,
        /** Called with the id of an earlier conversation. */
        onOpen: Function,
    };

    get hasChoice() {
        return this.props.state.assistants.length > 1;
    }

    /** Name of what the chat is about, when that is not chosen here. */
    get about() {
        return (this.props.state.record || this.props.state.fixedService)?.name;
    }

    /** Of the record on the screen, where the assistant works with such ones, of the service, of the assistant. */
    get starters() {
        const { assistant, record, cloudService } = this.props.state;
        if (!assistant) {
            return [];
        }
        const name = record?.name;
        return [
            ...(this.props.state.canUse(record)
                ? [
                      _t("Summarize “%(name)s”.", { name }),
                      _t("What is open on “%(name)s”?", { name }),
                  ]
                : []),
            ...(cloudService?.starters || []),
            ...(assistant.starters || []),
        ].slice(0, MAX_STARTERS);
    }

    get folderLabel() {
        const { folder } = this.props;
        return folder
            ? _t("Open folder “%(name)s”", { name: folder.name })
            : _t("New folder about this record");
    }

    title(conversation) {
        return conversationTitle(conversation);
    }

    moment({ last_message_at: moment }) {
        return formatMoment(moment);
    }

    records({ records }) {
        return formatRecords(records);
    }

    tools({ tools }) {
        return tools ? formatTools(tools) : "";
    }

    serviceLabel({ name, workspace }) {
        return workspace?.name ? `${name} (${workspace.name})` : name;
    }

    onService(ev) {
        this.props.state.chooseService(Number(ev.target.value) || null);
    }
}
