import { browser } from "@web/core/browser/browser";
import { pageLanguage } from "./api_client";
import { AiApiError, errorFromFailure, errorFromResponse, statusSentence } from "./api_error";

/** Milliseconds that a file may take on its way. */
export const UPLOAD_TIMEOUT = 180000;

/** Tests put another one in its place; Odoo's own requests use the same class of the browser. */
export const transport = {
    newRequest: () => new browser.XMLHttpRequest(),
};

/** @returns {Promise<Object>} what an XMLHttpRequest that is over has brought */
async function answerOf(request) {
    const wait = request.getResponseHeader("Retry-After");
    const response = new Response(request.responseText, {
        status: request.status,
        headers: wait ? { "Retry-After": wait } : {},
    });
    if (!response.ok) {
        throw await errorFromResponse(response);
    }
    try {
        return await response.json();
    } catch {
        throw new AiApiError({ code: "bad_response", message: statusSentence(500) });
    }
}

/**
 * Sends a file; errors as in {@link AiApiError}.
 *
 * @param {string} url
 * @param {File} file
 * @param {{onProgress?: (sent: number) => void, signal?: AbortSignal}} [options] `sent`: from 0 to 1
 * @returns {Promise<Object>} what the server answers
 */
export function upload(url, file, { onProgress, signal } = {}) {
    const form = new FormData();
    form.append("file", file, file.name);
    return new Promise((resolve, reject) => {
        // `fetch` does not tell how much of a body has been sent
        const request = transport.newRequest();
        const fail = () => reject(errorFromFailure(null, signal));
        request.open("POST", url);
        request.timeout = UPLOAD_TIMEOUT;
        request.setRequestHeader("Accept", "application/json");
        request.setRequestHeader("X-Woow-Language", pageLanguage());
        request.upload.addEventListener("progress", ({ loaded, total }) =>
            onProgress?.(total ? loaded / total : 0)
        );
        for (const type of ["error", "timeout", "abort"]) {
            request.addEventListener(type, fail);
        }
        request.addEventListener("load", () => answerOf(request).then(resolve, reject));
        signal?.addEventListener("abort", () => request.abort());
        request.send(form);
    });
}
