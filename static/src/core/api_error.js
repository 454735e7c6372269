import { _t } from "@web/core/l10n/translation";

/** Codes of what no person does, but a program or a page of another version: their sentences are for programmers. */
const FOR_PROGRAMS = [
    "unauthenticated",
    "unknown_field",
    "bad_json",
    "not_json",
    "not_form",
    "invalid_parameter",
    "invalid_header",
    "invalid_last_event_id",
    "http_error",
];

/**
 * What every failed request becomes. `message` is a sentence that can be shown to the person.
 *
 * `code` is the server's own error code, or one of ours: `network` (no answer), `aborted` (the
 * caller gave up), `bad_response` (an answer that is not of this API).
 */
export class AiApiError extends Error {
    constructor({ code, message, status = 0, details = {}, retryAfter = null }) {
        super(String(message));
        this.name = "AiApiError";
        this.code = code;
        this.status = status;
        this.details = details;
        /** Seconds that the server asked to wait, or null. */
        this.retryAfter = retryAfter;
    }

    get isAborted() {
        return this.code === "aborted";
    }

    /**
     * The same request may succeed later: no answer, too many requests, a server in trouble.
     * A 404 that is not of this API is Odoo's while it has no database.
     */
    get isTemporary() {
        return (
            [0, 408, 425, 429].includes(this.status) ||
            this.status >= 500 ||
            this.code === "http_404"
        );
    }

    get isSignedOut() {
        return this.status === 401;
    }
}

export function statusSentence(status) {
    if (status === 401) {
        return _t("Your session has expired. Sign in again to continue.");
    }
    if (status === 403) {
        return _t("You are not allowed to do this. Ask the owner for access.");
    }
    if (status === 404) {
        return _t("This no longer exists, or you do not have access to it.");
    }
    if (status === 413) {
        return _t("This message is too long. Shorten it and send it again.");
    }
    if (status === 429) {
        return _t("Too many requests at once. Wait a moment and try again.");
    }
    if (status >= 500) {
        return _t("The server has a problem right now. Try again in a moment.");
    }
    return _t("The server rejected this request. Reload the page and try again.");
}

/** Seconds, null where the server names none. */
function parseRetryAfter(response) {
    const seconds = parseFloat(response.headers.get("Retry-After"));
    return Number.isFinite(seconds) ? seconds : null;
}

export async function errorFromResponse(response) {
    let error = null;
    try {
        error = (await response.json()).error;
    } catch {
        // a proxy's HTML page, or nothing at all: the status has to do
    }
    const sentence = FOR_PROGRAMS.includes(error?.code) ? "" : error?.message;
    return new AiApiError({
        code: error?.code || `http_${response.status}`,
        message: sentence || statusSentence(response.status),
        status: response.status,
        details: error?.details,
        retryAfter: parseRetryAfter(response),
    });
}

export function errorFromFailure(failure, signal) {
    if (signal?.aborted) {
        return new AiApiError({ code: "aborted", message: _t("The request was cancelled.") });
    }
    return new AiApiError({
        code: "network",
        message: _t("The server cannot be reached. Check your connection and try again."),
    });
}
