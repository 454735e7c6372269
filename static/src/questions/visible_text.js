/** Blanks in a row that are told; a person sees the beginning of what stands behind them, or nothing. */
const PADDING = 10;
const BLANK =
    "[\\t-\\r\\x1c-\\x1f \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const INVISIBLE =
    "\\u034f|[\\ufe00-\\ufe0d]|[\\u17b4\\u17b5\\u180b-\\u180f]|" +
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\xad\\u061c\\u115f\\u1160" +
    "\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb" +
    "\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]";
const UNSEEN = new RegExp(`(${INVISIBLE}|\\u2800)\\1*|${BLANK}{2,}`, "gu");
const JOINER = "(?:\\u200c|\\u200d)";
/** They belong in emoji and in Indic or Persian words only. */
const JOINED = `(?:(?!${JOINER})[^\\x00-\\x7f])`;
const JOINERS = new RegExp(
    `(?<!${JOINED})${JOINER}+|${JOINER}+(?!${JOINED})|(?<=${JOINER})${JOINER}`,
    "gu"
);
const BLANKS = new RegExp(`${BLANK}+`, "gu");
const ONLY_BLANKS = new RegExp(`^${BLANK}+$`, "u");

function told(run) {
    const count = [...run].length;
    if (ONLY_BLANKS.test(run)) {
        return count >= PADDING ? ` [␣×${count}] ` : run;
    }
    const code = run.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `[U+${code}${count > 1 ? `×${count}` : ""}]`;
}

function inOneLine(text) {
    return text.replace(BLANKS, " ").trim();
}

/**
 * A text in one line, with what does not show, and what pushes text out of sight, told as what it is; the twin of
 * `visible` in services/text.py.
 */
export function visible(text) {
    return inOneLine(text.replace(UNSEEN, told).replace(JOINERS, told));
}

/** What a text really is, where a field does not show it; empty where it does. */
export function hiddenText(text) {
    const shown = visible(text);
    return shown === inOneLine(text) ? "" : shown;
}
