import { _t } from "@web/core/l10n/translation";
import { formatCount } from "../core/format";

/** Two digits of an estimate say as much as all of them. */
export function formatAbout(tokens) {
    const unit = 10 ** Math.max(0, String(Math.round(tokens || 0)).length - 2);
    return formatCount(Math.round((tokens || 0) / unit) * unit);
}

/**
 * How full a conversation is.
 *
 * @typedef {{used: number, limit: number, definitions: number, summary: number, messages: number}} ContextUse tokens
 *
 * @param {ContextUse} use
 * @returns {number} per cent, 0 to 100
 */
export function percentOf({ used, limit }) {
    return limit ? Math.min(100, Math.round((100 * used) / limit)) : 0;
}

/** @param {Object} event `conversation_summary` */
export function summarySentence({ messages, tokens_before: before, tokens_after: after }) {
    const numbers = { count: messages, before: formatAbout(before), after: formatAbout(after) };
    return messages === 1
        ? _t("1 earlier message summed up: about %(before)s → %(after)s tokens", numbers)
        : _t("%(count)s earlier messages summed up: about %(before)s → %(after)s tokens", numbers);
}
