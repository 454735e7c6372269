import { browser } from "@web/core/browser/browser";
import { localization } from "@web/core/l10n/localization";
import { jsToPyLocale } from "@web/core/l10n/utils";
import { user } from "@web/core/user";
import { AiApiError, errorFromFailure, errorFromResponse, statusSentence } from "./api_error";
import { parseAnswer, writeJson } from "./format";

/** Milliseconds that a JSON request may take before it counts as a network failure. */
export const REQUEST_TIMEOUT = 30000;
/** Milliseconds that a request may take which waits for an MCP server; its own limits are shorter. */
export const SERVER_TIMEOUT = 60000;

/** What the server says is part of this page, whatever language its person prefers elsewhere. */
export function pageLanguage() {
    // A page of the portal knows no user; there `localization` has the language of the browser.
    const { lang } = document.documentElement;
    if (!user.lang && lang) {
        return jsToPyLocale(lang);
    }
    try {
        return localization.code;
    } catch {
        return ""; // not known yet: the person's own
    }
}

export function withQuery(url, params) {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(params)) {
        if (value !== undefined && value !== null) {
            query.set(key, value);
        }
    }
    const text = query.toString();
    return text ? url + (url.includes("?") ? "&" : "?") + text : url;
}

/**
 * JSON over HTTP, in the language of the page.
 *
 * Every method resolves to the parsed JSON body and rejects with an {@link AiApiError}.
 */
export class ApiClient {
    async fetch(method, url, { body, headers = {}, signal } = {}) {
        let response;
        try {
            response = await browser.fetch(url, {
                method,
                headers: {
                    Accept: "application/json",
                    "X-Woow-Language": pageLanguage(),
                    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
                    ...headers,
                },
                body: body === undefined ? undefined : writeJson(body),
                credentials: "same-origin",
                cache: "no-store",
                signal,
            });
        } catch (failure) {
            throw errorFromFailure(failure, signal);
        }
        if (!response.ok) {
            throw await errorFromResponse(response);
        }
        return response;
    }

    async request(method, url, body, timeout = REQUEST_TIMEOUT) {
        const controller = new AbortController();
        const timer = browser.setTimeout(() => controller.abort(), timeout);
        try {
            const response = await this.fetch(method, url, { body, signal: controller.signal });
            return response.status === 204 ? null : parseAnswer(await response.text());
        } catch (error) {
            if (error instanceof AiApiError && !error.isAborted) {
                throw error;
            }
            if (error instanceof SyntaxError) {
                throw new AiApiError({ code: "bad_response", message: statusSentence(500) });
            }
            throw errorFromFailure(error);
        } finally {
            browser.clearTimeout(timer);
        }
    }
}
