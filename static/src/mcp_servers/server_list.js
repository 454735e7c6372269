import { reactive } from "@odoo/owl";
import { browser } from "@web/core/browser/browser";
import { McpApi } from "../core/mcp_api";

/** Milliseconds between two looks at servers whose tools are being read. */
const LOOK_AGAIN = 1500;
/** Three minutes: a program that is fetched first takes its time. */
const MAX_LOOKS = 120;
/** Five minutes for a person who signs in in another tab. */
const MAX_LOOKS_FOR_SIGN_IN = 200;

/** Whether a server waits for a person: nobody asks it before. */
export const wantsSignIn = (server) =>
    Boolean(server.active && server.sign_in_url && !server.sign_in_id);

/** The servers of one owner: of a cloud service, or the person's own. Components show it, and call its methods. */
export class ServerList {
    /** @param {number|null} cloudServiceId null: the person's own servers */
    constructor(cloudServiceId, api = new McpApi()) {
        this.api = api;
        this.cloudServiceId = cloudServiceId;
        this.servers = [];
        /** Those that everybody may use, each with the person's own switch. */
        this.shared = [];
        /** What is said where MCP is switched off. */
        this.notice = "";
        this.isLoaded = false;
        this.error = null;
        this.looks = 0;
        /** Ids of those that were changed or switched on here, so that they are asked once more. */
        this.changedIds = new Set();
        /** The id of the server that somebody has gone to sign in to. */
        this.expectedId = 0;
        return reactive(this);
    }

    get owner() {
        return this.cloudServiceId ? { cloud_service_id: this.cloudServiceId } : {};
    }

    async load() {
        try {
            const listed = await this.api.servers(this.cloudServiceId);
            this.notice = listed.notice;
            this.shared = listed.system_servers.filter((server) => server.active);
            const own = listed.user_servers.filter(
                (server) => this.cloudServiceId || server.is_personal
            );
            const stale = own.filter((server) => {
                const known = this.find(server.id);
                return known?.tools && known.last_sync !== server.last_sync;
            });
            this.servers = own.map((server) => ({ ...this.find(server.id), ...server }));
            this.error = null;
            this.isLoaded = true;
            await Promise.all(stale.map((server) => this.loadTools(server.id)));
        } catch (error) {
            this.error = error;
        }
        this.lookAgain();
    }

    /** Whether a server is asked what it has, and has not answered yet; while MCP is switched off none is. */
    isAsking(server) {
        const isNew = server.active && server.state === "draft" && !wantsSignIn(server);
        const isAsked = !server.last_attempt || this.changedIds.has(server.id);
        return isNew && isAsked && !this.notice && this.looks < MAX_LOOKS;
    }

    /** What the person has to look at: as the tab of the page counts it. */
    get attention() {
        const inTrouble = this.servers.filter(
            ({ active, state }) => active && ["error", "auth_required"].includes(state)
        );
        const waiting = this.servers.filter(({ active }) => active);
        return inTrouble.length + waiting.reduce((sum, { review_count: count }) => sum + count, 0);
    }

    /** New servers are asked in the background: look until each has a state. */
    lookAgain() {
        browser.clearTimeout(this.timer);
        const expected = this.find(this.expectedId);
        if (expected && !wantsSignIn(expected)) {
            this.expectedId = this.looks = 0;
        }
        const most = this.expectedId ? MAX_LOOKS_FOR_SIGN_IN : MAX_LOOKS;
        if (
            this.looks < most &&
            (this.expectedId || this.servers.some((server) => this.isAsking(server)))
        ) {
            this.looks++;
            this.timer = browser.setTimeout(() => this.load(), LOOK_AGAIN);
        }
    }

    /** Somebody signs in to a server in another tab, which cannot tell this one. */
    expectSignIn(server) {
        this.expectedId = server.id;
        this.looks = 0;
        this.lookAgain();
    }

    leave() {
        this.looks = MAX_LOOKS_FOR_SIGN_IN;
        browser.clearTimeout(this.timer);
    }

    find(id) {
        return this.servers.find((server) => server.id === id);
    }

    /** Puts what the API said of a server in its place. */
    put(data) {
        const known = this.find(data.id);
        if (known) {
            Object.assign(known, data);
        } else {
            this.servers.push(data);
        }
        this.looks = 0;
        this.lookAgain();
        return this.find(data.id);
    }

    async loadTools(id) {
        this.put(await this.api.server(id));
    }

    async add(values) {
        return this.put(await this.api.create({ ...values, ...this.owner }));
    }

    async change(id, values) {
        this.changedIds.add(id);
        return this.put(await this.api.update(id, values));
    }

    async remove(id) {
        await this.api.remove(id);
        this.servers = this.servers.filter((server) => server.id !== id);
    }

    async signOut(server) {
        await this.api.signOut(server.sign_in_id);
        await this.load();
    }

    async toggle(server, active) {
        this.changedIds.add(server.id);
        this.put(await this.api.toggle(server.id, { active }));
        if (server.tools) {
            await this.loadTools(server.id);
        }
    }

    /** A shared server, in all conversations of the person. */
    async toggleForMe(server, active) {
        this.putShared(await this.api.toggle(server.id, { active, for_me: true }));
    }

    /** Asks always, or never runs, for the person alone. */
    async restrict(server, policy) {
        this.putShared(await this.api.restrict(server.id, policy));
    }

    putShared(data) {
        this.shared = this.shared.map((one) => (one.id === data.id ? data : one));
    }

    async changeTool(server, tool, values) {
        try {
            await this.api.changeTool(tool.id, values);
        } finally {
            await this.loadTools(server.id); // as it is now, also where it was refused
        }
    }

    /** @returns {Promise<Array>} the steps */
    async test(id) {
        const outcome = await this.api.test(id);
        this.put(outcome.server);
        return outcome.steps;
    }

    async sync(id) {
        try {
            this.put(await this.api.sync(id));
        } catch (error) {
            await this.load(); // the state tells why
            throw error;
        }
    }

    /** @returns {Promise<{added: string[], notes: Array}>} names of the new servers, and what was left out */
    async importText(text, confirmed) {
        const { servers, notes } = await this.api.importServers({
            mcpServers: JSON.parse(text),
            confirmed,
            ...this.owner,
        });
        servers.forEach((server) => this.put(server));
        return { added: servers.map(({ name }) => name), notes };
    }

    async exportText() {
        return JSON.stringify(await this.api.exportServers(this.cloudServiceId), null, 2);
    }
}
