import {
    Component,
    markRaw,
    onWillDestroy,
    onWillStart,
    useEffect,
    useExternalListener,
    useRef,
    useState,
} from "@odoo/owl";
import { ConfirmationDialog } from "@web/core/confirmation_dialog/confirmation_dialog";
import { _t } from "@web/core/l10n/translation";
import { registry } from "@web/core/registry";
import { uniqueId } from "@web/core/utils/functions";
import { useService } from "@web/core/utils/hooks";
import { chatKey } from "../core/chat_ref";
import { copyText } from "../core/clipboard";
import { downloadFile } from "../core/csv";
import { loadComponent } from "../tool_call/lazy_component";
import { ChatHeader } from "../conversations/chat_header";
import { ContextGauge } from "../context/context_gauge";
import { CommandPanel } from "../commands/command_panel";
import { Composer } from "../composer/composer";
import { ConversationList } from "../conversations/conversation_list";
import { FolderChoice } from "../folders/folder_choice";
import { FolderLine } from "../folders/folder_line";
import { NewChat } from "./new_chat";
import { ResourcePicker } from "../commands/resource_picker";
import { useShortcuts } from "../commands/shortcuts";
import { ServerPanel } from "../conversations/server_panel";
import { Thread } from "../thread/thread";
import { TryAgain } from "../core/try_again";
import { pressedKey } from "../core/keys";

const DIALOGS = "woow_paas_platform.assets_chat_dialogs";

/** The chat as a whole: conversations, the open one, and where the person writes. */
export class AiChat extends Component {
    static template = "woow_paas_platform.AiChat";
    static components = {
        ChatHeader,
        CommandPanel,
        Composer,
        ContextGauge,
        ConversationList,
        FolderLine,
        NewChat,
        ResourcePicker,
        ServerPanel,
        Thread,
        TryAgain,
    };
    static props = {
        conversationId: { type: [Number, { value: false }], optional: true },
        /** {assistant_id?, cloud_service_id?, record?}: a new chat with this choice made. */
        newChat: { type: Object, optional: true },
        /** {id, name}: only conversations about this cloud service are shown and made. */
        cloudService: { type: Object, optional: true },
        /** Gives the choice that a new chat begins with, when one is started from here. */
        getNewChat: { type: Function, optional: true },
        /** Told which conversation is shown; null for a new chat. */
        onShow: { type: Function, optional: true },
        /** Told what the conversation on the screen is called, "" for a new chat. */
        onTitle: { type: Function, optional: true },
        /** (record, html, {isNote}): opens an answer as a message on its record; of the backend. */
        onPost: { type: Function, optional: true },
        /** Of a panel: shows the chat as a page, and closes the panel. */
        onExpand: { type: Function, optional: true },
        onClose: { type: Function, optional: true },
    };

    setup() {
        this.chat = useService("ai_chat");
        this.quote = this.quote.bind(this);
        this.steer = (text) => this.chat.send(text, { steers: true });
        this.dialog = useService("dialog");
        this.notification = useService("notification");
        this.viewId = uniqueId("o_ai_chat_");
        this.menuId = `${this.viewId}_menu`;
        this.root = useRef("root");
        this.menu = useRef("menu");
        /** `opened`: {id, words, isSaid} of the conversation that was opened out of a search. */
        this.ui = useState({ isMenuOpen: false, opened: null });
        onWillStart(() => this.start());
        onWillDestroy(() => this.chat.exit(this.viewId));
        useExternalListener(document, "visibilitychange", () => this.onVisibility());
        useShortcuts(this.root, () => !this.props.onClose, {
            search: () => this.openMenu(".o_ai_chat_search"),
            startNew: async () => {
                await this.startNew();
                this.write();
            },
            write: () => this.write(),
        });
        useEffect(
            (isOpen) => isOpen && this.focusMenu(),
            () => [this.ui.isMenuOpen]
        );
        useEffect(
            (id) => this.props.onShow?.(id),
            () => [this.chat.currentId]
        );
        useEffect(
            (name) => this.props.onTitle?.(name),
            () => [this.chat.thread?.name || ""]
        );
        useEffect(
            () => {
                this.chat.servers.show(this.chat.chatRef);
            },
            () => [chatKey(this.chat.chatRef)]
        );
    }

    /** Nothing is awaited: the frame stands at once, what is in it follows. */
    start() {
        const { conversationId, newChat, cloudService } = this.props;
        this.chat.leaveOtherFolder(newChat?.record);
        this.chat.enter(this.viewId, cloudService);
        this.chat.loadPreferences();
        if (conversationId) {
            this.chat.open(conversationId);
        } else {
            this.prepare(newChat);
        }
    }

    prepare(newChat) {
        this.chat.prepare({
            assistantId: newChat?.assistant_id,
            cloudServiceId: newChat?.cloud_service_id,
            record: newChat?.record,
        });
    }

    onVisibility() {
        if (document.visibilityState === "visible") {
            this.chat.refresh();
        }
    }

    get placeholder() {
        const name = (this.chat.thread?.assistant || this.chat.newChat.assistant)?.name;
        return name ? _t("Message %(assistant)s", { assistant: name }) : _t("Write a message");
    }

    /** With whom, and about which service. */
    get partners() {
        const { thread, newChat } = this.chat;
        const service = newChat.cloudServices.find(({ id }) => id === newChat.cloudServiceId);
        const names = thread
            ? [thread.assistant?.name, thread.cloudService?.name]
            : [newChat.assistant?.name, service?.name];
        return names.filter(Boolean);
    }

    get currentActivity() {
        const live = this.chat.thread?.live;
        return live ? (live.isAsking ? "waiting" : "running") : "";
    }

    get isComposerDisabled() {
        return this.chat.thread
            ? Boolean(this.chat.thread.error && !this.chat.thread.isLoaded)
            : this.chat.newChat.isLoaded && !this.chat.newChat.assistant;
    }

    /** What is written may not go yet. */
    get isComposerBusy() {
        const { isHolding, newChat, thread } = this.chat;
        const isPreparing = newChat.isStarting || !newChat.assistant;
        return isHolding || (thread ? thread.isSending : isPreparing);
    }

    /** What stands in the place of the composer; an answer under way can still be stopped there. */
    get closed() {
        const { thread } = this.chat;
        return thread && !thread.isRunning ? thread.closed : "";
    }

    editFailed(message) {
        this.chat.editFailed(message);
    }

    async usePrompt(promptId) {
        if (await this.chat.usePrompt(promptId)) {
            this.write();
        }
    }

    savePrompt(content) {
        const onSave = async (values) => {
            const { name } = await this.chat.commands.savePrompt(values);
            this.notification.add(_t("Type “/%(name)s” to use it.", { name }), { type: "success" });
        };
        this.openDialog("PromptDialog", { content, onSave });
    }

    onInput(text) {
        this.chat.setDraft(text);
    }

    quote(text) {
        this.chat.quote(text);
        this.write();
    }

    attach(files) {
        this.chat.files.add(this.chat.currentId, files);
    }

    sendFileAgain(key) {
        this.chat.files.retry(key);
    }

    detach(key) {
        this.chat.files.remove(this.chat.currentId, key);
    }

    // Menu -------------------------------------------------------------------

    toggleMenu() {
        if (this.ui.isMenuOpen) {
            this.closeMenu();
        } else {
            this.openMenu(".active, .o_ai_chat_new");
        }
    }

    /** Where there is room it is on the screen all the time; elsewhere nothing in it takes the focus before it is drawn. */
    openMenu(selector) {
        this.menuFocus = selector;
        this.ui.isMenuOpen = true;
        this.focusMenu();
    }

    focusMenu() {
        this.menu.el.querySelector(this.menuFocus).focus();
    }

    closeMenu() {
        this.ui.isMenuOpen = false;
    }

    write() {
        this.closeMenu();
        this.root.el.querySelector(".o_ai_chat_input")?.focus();
    }

    /** What a command asked for is given; its form, which goes, may have the focus. */
    leaveCommand() {
        const { activeElement } = document;
        if (activeElement === document.body || activeElement.closest(".o_ai_chat_command")) {
            this.write();
        }
    }

    onKeydown(ev) {
        if (pressedKey(ev) === "Escape" && this.ui.isMenuOpen) {
            // with Shift it is a shortcut, too
            if (!ev.shiftKey) {
                ev.preventDefault();
            }
            this.closeMenu();
            this.menu.el.parentElement.querySelector(".o_ai_chat_menu_toggle").focus();
        }
    }

    /** What the conversation on the screen was found by, as long as the list is searched for it. */
    get search() {
        const { opened } = this.ui;
        const { currentId, list } = this.chat;
        return opened?.id === currentId && opened.words === list.words ? opened : null;
    }

    select(id) {
        this.closeMenu();
        const { list } = this.chat;
        const { words } = list;
        const isSaid = Boolean(list.find(id)?.excerpt);
        this.ui.opened = words ? markRaw({ id, words, isSaid }) : null;
        this.chat.open(id);
    }

    async startNew() {
        this.closeMenu();
        this.prepare(await this.props.getNewChat?.());
    }

    // The open conversation --------------------------------------------------

    speak(language) {
        return this.attempt(() => this.chat.speak(language));
    }

    rename(id, name) {
        return this.attempt(() => this.chat.rename(id, name));
    }

    renameCurrent(name) {
        return this.rename(this.chat.currentId, name);
    }

    copyCurrent() {
        return this.attempt(async () => {
            const { id } = this.chat.thread;
            const { blob } = await this.chat.api.exportConversation(id, "markdown");
            const isCopied = await copyText(await blob.text());
            this.notification.add(
                isCopied ? _t("Copied") : _t("Your browser does not allow copying"),
                { type: isCopied ? "success" : "warning" }
            );
        });
    }

    downloadCurrent(format) {
        return this.attempt(async () => {
            const { id } = this.chat.thread;
            const { name, blob } = await this.chat.api.exportConversation(id, format);
            downloadFile(name, blob);
        });
    }

    continueFrom(turnId) {
        return this.attemptOnce(async () => {
            const { id } = await this.chat.api.continueFrom(turnId);
            await this.chat.loadConversations();
            this.select(id);
        });
    }

    toggleCalls() {
        return this.attempt(() => this.chat.showCalls(!this.chat.preferences.showCalls));
    }

    toggleNotify() {
        return this.attempt(() => this.chat.notify(!this.chat.preferences.notify));
    }

    async keepTemporary() {
        if (await this.attempt(() => this.chat.keepTemporary())) {
            this.write(); // the button that had the focus is gone
        }
    }

    deleteCurrent() {
        const { id, title: name } = this.chat.thread;
        this.act("delete", [{ id, name }]);
    }

    /**
     * @param {string} action of the list: "pin", "archive", …
     * @param {{id: number, name: string}[]} conversations
     * @param {number|null} [folderId] where they are moved; asked for if it is left out
     * @returns {Promise<boolean>} whether it was done to all of them
     */
    async act(action, conversations, folderId) {
        if (action === "delete" && !(await this.confirmDelete(conversations))) {
            return false;
        }
        if (action === "move" && folderId === undefined) {
            folderId = await this.askForFolder(conversations);
            if (folderId === undefined) {
                return false;
            }
        }
        return this.attempt(async () => {
            const ids = conversations.map(({ id }) => id);
            const [failed] = await this.chat.act(action, ids, folderId);
            if (failed) {
                const { name } = conversations.find(({ id }) => id === failed.id);
                throw new Error(_t("“%(name)s”: %(error)s", { name, error: failed.error.message }));
            }
        });
    }

    /** @returns {Promise<number|null|undefined>} null: in none; undefined: the person thought better of it */
    askForFolder(conversations) {
        const [{ name }] = conversations;
        const count = conversations.length;
        return new Promise((resolve) => {
            const props = {
                what: count === 1 ? name : _t("%(count)s conversations", { count }),
                folders: this.chat.folders,
                onAdd: async (folderName) => {
                    let folder = null;
                    await this.attempt(async () => {
                        folder = await this.chat.folders.add(folderName);
                    });
                    return folder;
                },
                onChoose: resolve,
            };
            this.dialog.add(FolderChoice, props, { onClose: () => resolve(undefined) });
        });
    }

    /** @returns {Promise<{assistants: Object[], services: Object[]}>} without what could not be read */
    async getChoices() {
        const { api, list } = this.chat;
        const [assistants, services] = await Promise.all([
            api.assistants(list.cloudServiceId).then(
                (data) => data.assistants,
                () => []
            ),
            api.cloudServices().catch(() => []),
        ]);
        return { assistants, services };
    }

    saveFolder(id, name) {
        const { folders } = this.chat;
        return this.attempt(() => (id ? folders.change(id, { name }) : folders.add(name)));
    }

    editFolder({ id }) {
        const folder = this.chat.folders.find(id);
        this.openDialog("FolderDialog", {
            folder,
            record: this.chat.record,
            hasForms: Boolean(this.props.onPost),
            files: this.chat.files,
            onSave: (values) => this.attempt(() => this.chat.changeFolder(id, values)),
        });
    }

    /** Opens the folder about what a new chat is about; there is one from then on. */
    openFolderAbout(record) {
        const { folders } = this.chat;
        const folder = folders.about(record);
        return this.attemptOnce(() =>
            folder ? this.chat.showPlace(folder.id) : this.chat.addFolderAbout(record)
        );
    }

    /** A folder that holds nothing is only told of where a chat is begun. */
    get folder() {
        const { folder, newChat, thread } = this.chat;
        const isHeld = folder && (folder.instructions || folder.files.length);
        const isTemporary = !thread && newChat.isTemporary; // it is in no folder
        return (isHeld || !thread) && !isTemporary ? folder : null;
    }

    deleteFolder({ id, name }) {
        this.dialog.add(ConfirmationDialog, {
            title: _t("Delete this folder?"),
            body: _t("“%(name)s” will be deleted. Its conversations stay.", { name }),
            confirmLabel: _t("Delete"),
            confirmClass: "btn-danger",
            confirm: () => this.attempt(() => this.chat.removeFolder(id)),
            cancel: () => {},
        });
    }

    confirmDelete(conversations) {
        const [{ name }] = conversations;
        const count = conversations.length;
        return new Promise((resolve) => {
            this.dialog.add(
                ConfirmationDialog,
                {
                    title:
                        count === 1
                            ? _t("Delete this conversation?")
                            : _t("Delete these conversations?"),
                    body:
                        count === 1
                            ? _t("“%(name)s” and all its messages will be permanently deleted.", {
                                  name,
                              })
                            : _t(
                                  "%(count)s conversations and all their messages will be permanently deleted.",
                                  { count }
                              ),
                    confirmLabel: _t("Delete"),
                    confirmClass: "btn-danger",
                    confirm: () => resolve(true),
                    cancel: () => {},
                },
                { onClose: () => resolve(false) }
            );
        });
    }

    /** A dialog whose code comes when it is asked for. */
    openDialog(name, props) {
        return this.attempt(async () => {
            this.dialog.add(await loadComponent(DIALOGS, name), props);
        });
    }

    /** @returns {Promise<boolean>} whether it went well; if not, the person was told */
    /** A second click while the first is under way is none. */
    attemptOnce(action) {
        this.attempted ??= this.attempt(action).finally(() => {
            this.attempted = null;
        });
        return this.attempted;
    }

    async attempt(action) {
        try {
            await action();
            return true;
        } catch (error) {
            this.notification.add(error.message, { type: "danger" });
            return false;
        }
    }
}

registry.category("lazy_components").add("woow_paas_platform.AiChat", AiChat);
