import { ApiClient } from "./api_client";

const SERVERS = "/api/mcp/servers";
const CONNECTIONS = "/api/mcp/connections";
const CLIENT_KEYS = "/api/mcp/keys";
const TRIAL_TIMEOUT = 120000; // ms; a tool may take as long as its server's time limit
const GRANTS = "/api/ai/grants";

/** The HTTP contract of servers and tools; errors as in {@link ApiClient}. */
export class McpApi extends ApiClient {
    servers(cloudServiceId) {
        const query = cloudServiceId ? `?cloud_service_id=${cloudServiceId}` : "";
        return this.request("GET", `${SERVERS}${query}`);
    }

    server(id) {
        return this.request("GET", `${SERVERS}/${id}`);
    }

    /** @param {string} scope of the server that is about to be made: "system" | "user" */
    async templates(scope) {
        return (await this.request("GET", `/api/mcp/templates?scope=${scope}`)).templates;
    }

    create(values) {
        return this.request("POST", SERVERS, values);
    }

    update(id, values) {
        return this.request("PUT", `${SERVERS}/${id}`, values);
    }

    remove(id) {
        return this.request("DELETE", `${SERVERS}/${id}`);
    }

    test(id) {
        return this.request("POST", `${SERVERS}/${id}/test`, {});
    }

    sync(id) {
        return this.request("POST", `${SERVERS}/${id}/sync`, {});
    }

    toggle(id, values) {
        return this.request("PATCH", `${SERVERS}/${id}/toggle`, values);
    }

    restrict(id, policy) {
        return this.request("PUT", `${SERVERS}/${id}/my-policy`, { policy });
    }

    changeTool(id, values) {
        return this.request("PATCH", `/api/mcp/tools/${id}`, values);
    }

    /** The person has the call in front of them, so what asks before each call has asked them. */
    tryTool(id, args) {
        return this.request("POST", `/api/mcp/tools/${id}/try`, { arguments: args }, TRIAL_TIMEOUT);
    }

    importServers(values) {
        return this.request("POST", "/api/mcp/import", values);
    }

    exportServers(cloudServiceId) {
        const query = cloudServiceId ? `?cloud_service_id=${cloudServiceId}` : "";
        return this.request("GET", `/api/mcp/export${query}`);
    }

    async connections() {
        return (await this.request("GET", CONNECTIONS)).connections;
    }

    connect(serverId, apiKey) {
        return this.request("PUT", `${CONNECTIONS}/${serverId}`, { api_key: apiKey });
    }

    disconnect(serverId) {
        return this.request("DELETE", `${CONNECTIONS}/${serverId}`);
    }

    /** @returns {Promise<{keys: Object[], days: number[], url: string}>} */
    clientKeys() {
        return this.request("GET", CLIENT_KEYS);
    }

    /** @param {{name: string, days: number, password: string}} values */
    async makeClientKey(values) {
        return (await this.request("POST", CLIENT_KEYS, values)).key;
    }

    revokeClientKey(id) {
        return this.request("DELETE", `${CLIENT_KEYS}/${id}`);
    }

    disconnectClient(id) {
        return this.request("DELETE", `/api/mcp/clients/${id}`);
    }

    /** @param {{decision: string, reason?: string}} values */
    decideCall(id, values) {
        return this.request("POST", `/api/mcp/calls/${id}/decision`, values);
    }

    signOut(signInId) {
        return this.request("DELETE", `/api/ai/sign-ins/${signInId}`);
    }

    async grants() {
        return (await this.request("GET", GRANTS)).grants;
    }

    revokeGrant(id) {
        return this.request("DELETE", `${GRANTS}/${id}`);
    }
}
