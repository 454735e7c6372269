import { markRaw } from "@odoo/owl";
import { Reactive } from "@web/core/utils/reactive";

/** Conversations about a record that are shown. */
const MAX_EARLIER = 3;

/** What can be chosen for a new chat, and what is chosen; nothing is created before the first message. */
export class NewChatState extends Reactive {
    /** @param {import("../core/ai_api").AiApi} api */
    constructor(api) {
        super();
        this.api = markRaw(api);
        this.assistants = [];
        /** Who gives access needs not ask for it. */
        this.canCreate = false;
        this.cloudServices = [];
        this.isLoaded = false;
        this.isLoading = false;
        this.loading = null;
        this.error = null;
        this.assistantId = null;
        /** Whether somebody has chosen that one; else it is the first, whom the person talked to last. */
        this.isChosen = false;
        this.cloudServiceId = null;
        /** {id, name} of the cloud service that cannot be chosen otherwise; null: any. */
        this.fixedService = null;
        /** {model, id, name} of what the chat is about. */
        this.record = null;
        /** The latest conversations about the record, as the list has them. */
        this.earlier = [];
        /** {id, name} of the prompts that fill in the first message, for the record and the assistant. */
        this.prompts = [];
        /** Nothing lists it, and it is deleted when the person leaves it. */
        this.isTemporary = false;
        this.isStarting = false;
        this.startError = null;
    }

    get assistant() {
        return this.assistants.find(({ id }) => id === this.assistantId) || null;
    }

    get cloudService() {
        return this.cloudServices.find(({ id }) => id === this.cloudServiceId) || null;
    }

    /** Whether an assistant works with records like this one. */
    canUse(record, assistant = this.assistant) {
        return Boolean(record && assistant?.records.some(({ model }) => model === record.model));
    }

    async prepare({ assistantId, cloudServiceId, record } = {}) {
        this.isTemporary = false;
        this.cloudServiceId = this.fixedService?.id || cloudServiceId || null;
        this.isChosen = Boolean(assistantId);
        if (assistantId) {
            this.assistantId = assistantId;
        }
        await this.changeRecord(record);
    }

    /** What else was chosen stays. */
    async changeRecord(record) {
        Object.assign(this, { record: record || null, startError: null });
        this.loadEarlier();
        await this.load();
        await this.loadPrompts();
    }

    async loadEarlier() {
        const { record } = this;
        this.earlier = [];
        if (!record) {
            return;
        }
        const asked = this.api.conversations({ record, limit: MAX_EARLIER });
        const { conversations } = await asked.catch(() => ({ conversations: [] }));
        if (record === this.record) {
            this.earlier = conversations;
        }
    }

    choose(assistantId) {
        Object.assign(this, { assistantId, isChosen: true });
        this.loadPrompts();
    }

    async loadPrompts() {
        const { assistantId, record } = this;
        this.prompts = [];
        if (!assistantId || !record) {
            return;
        }
        const prompts = await this.api.defaultPrompts(assistantId, record.model).catch(() => []);
        if (assistantId === this.assistantId && record === this.record) {
            this.prompts = prompts;
        }
    }

    /** @returns {Promise<string>} the first message; empty if it cannot be had, and `startError` says why */
    async fill(promptId) {
        this.startError = null;
        try {
            return await this.api.fillDefaultPrompt(promptId, this.record);
        } catch (error) {
            this.startError = error;
            return "";
        }
    }

    /** One request at a time. */
    load() {
        this.loading ??= this.read().finally(() => {
            this.loading = null;
        });
        return this.loading;
    }

    async read() {
        this.isLoading = true;
        try {
            let asked;
            do {
                asked = this.cloudServiceId;
                const [{ assistants, can_create: canCreate }, cloudServices] = await Promise.all([
                    this.readAssistants(asked),
                    this.api.cloudServices(),
                ]);
                Object.assign(this, { assistants, canCreate, cloudServices });
                Object.assign(this, { isLoaded: true, error: null });
                this.checkSelection();
            } while (asked !== this.cloudServiceId); // which was chosen meanwhile, or is not there
        } catch (error) {
            this.error = error;
        } finally {
            this.isLoading = false;
        }
    }

    /** Those of a cloud service among them, which answer about no record; of one that is gone, those of every chat. */
    readAssistants(cloudServiceId) {
        return this.api.assistants(this.record ? null : cloudServiceId).catch((error) => {
            if (cloudServiceId && error.status === 404) {
                return this.api.assistants();
            }
            throw error;
        });
    }

    /** Another cloud service has other assistants. */
    chooseService(cloudServiceId) {
        this.cloudServiceId = cloudServiceId;
        return this.load();
    }

    /**
     * A choice that does not exist (any more) falls back to the first that works with the record, to the first of all,
     * or to none; what is fixed stays.
     */
    checkSelection() {
        if (!this.assistant || !this.isChosen) {
            const [first] = this.assistants;
            const fits = this.assistants.find((one) => this.canUse(this.record, one));
            this.assistantId = (fits || first)?.id ?? null;
        }
        if (
            !this.fixedService &&
            !this.cloudServices.some(({ id }) => id === this.cloudServiceId)
        ) {
            this.cloudServiceId = null;
        }
    }

    /**
     * @param {string[]|null} enabledServers names; null: all that are offered
     * @returns {Promise<Object|null>} the conversation that was made; null: not now, or not at all
     */
    async start(enabledServers = null, folderId = null) {
        if (this.isStarting || !this.assistantId) {
            return null;
        }
        Object.assign(this, { isStarting: true, startError: null });
        try {
            const { assistantId, cloudServiceId, record, isTemporary } = this;
            return await this.api.createConversation({
                assistantId,
                cloudServiceId,
                record,
                enabledServers,
                isTemporary,
                folderId: isTemporary ? null : folderId,
            });
        } catch (error) {
            this.startError = error;
            return null;
        } finally {
            this.isStarting = false;
        }
    }
}
