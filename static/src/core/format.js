import { _t } from "@web/core/l10n/translation";
import { localization } from "@web/core/l10n/localization";
import { formatFloat, insertThousandsSep } from "@web/core/utils/numbers";

const { DateTime } = luxon;

/** Name of a conversation, which has none of its own before its first question. */
export function conversationTitle({ name, assistant }) {
    return name || assistant?.name || _t("New chat");
}

/** A point in time as people write it: the time of today, else the date. */
export function formatMoment(iso) {
    const moment = DateTime.fromISO(iso || "");
    if (!moment.isValid) {
        return "";
    }
    if (moment.hasSame(DateTime.now(), "day")) {
        return moment.toLocaleString(DateTime.TIME_SIMPLE);
    }
    if (moment.hasSame(DateTime.now(), "year")) {
        return moment.toLocaleString({ month: "short", day: "numeric" });
    }
    return moment.toLocaleString(DateTime.DATE_MED);
}

export function formatMomentFull(iso) {
    const moment = DateTime.fromISO(iso || "");
    return moment.isValid ? moment.toLocaleString(DateTime.DATETIME_MED) : "";
}

/** @returns {string} the part of a list, the latest first, that a point in time belongs to */
export function formatPeriod(iso) {
    const moment = DateTime.fromISO(iso || "").startOf("day");
    if (!moment.isValid) {
        return "";
    }
    const days = Math.round(DateTime.now().startOf("day").diff(moment, "days").days);
    if (days <= 0) {
        return _t("Today");
    }
    if (days === 1) {
        return _t("Yesterday");
    }
    if (days <= 7) {
        return _t("Previous 7 days");
    }
    return moment.toLocaleString({ month: "long", year: "numeric" });
}

export function formatCount(value) {
    return formatFloat(value || 0, { digits: [false, 0] });
}

/** Digits of a float that are no noise. */
const SURE = 15;
const MAX_DIGITS = 100; // after the point, that a browser writes

/**
 * A number with all of its digits, the shortest that it can be written with.
 *
 * @param {number} value
 * @param {number} [least] digits after the point
 */
export function formatExact(value, least = 0) {
    const [, digits = "", power = 0] =
        /^-?\d(?:\.(\d*?)0*)?e([+-]\d+)$/.exec(value.toExponential(SURE - 1)) || [];
    const count = Math.min(Math.max(digits.length - power, least), MAX_DIGITS);
    const [whole, rest] = value.toFixed(count).split(".");
    const { decimalPoint, thousandsSep, grouping } = localization;
    const grouped = insertThousandsSep(whole, thousandsSep, grouping);
    return rest ? `${grouped}${decimalPoint}${rest}` : grouped;
}

/** Labels of models that an assistant works with; the rest is no news to anybody. */
export function formatRecords(records, most = 4) {
    const names = records.slice(0, most).map(({ name }) => name);
    return [...names, ...(records.length > most ? ["…"] : [])].join(", ");
}

export function formatTools(count) {
    return count === 1 ? _t("1 tool") : _t("%(count)s tools", { count });
}

/** @param {number|null} ms */
export function formatDuration(ms) {
    if (ms === null || ms === undefined) {
        return "";
    }
    if (ms < 1000) {
        return _t("%(ms)s ms", { ms: Math.round(ms) });
    }
    if (ms < 60000) {
        return _t("%(seconds)s s", { seconds: formatFloat(ms / 1000, { digits: [false, 1] }) });
    }
    return formatSeconds(ms);
}

/** Whole seconds, for what still goes on. */
export function formatSeconds(ms) {
    const seconds = Math.round(ms / 1000);
    return seconds < 60
        ? _t("%(seconds)s s", { seconds })
        : _t("%(minutes)s min %(seconds)s s", {
              minutes: Math.floor(seconds / 60),
              seconds: seconds % 60,
          });
}

/**
 * A size in units of 1024, as limits are; rounded up, so that nothing above a limit reads like it.
 *
 * @param {number|null} bytes
 */
export function formatSize(bytes) {
    if (bytes === null || bytes === undefined) {
        return "";
    }
    const units = ["B", "kB", "MB", "GB"];
    const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
    const size = Math.ceil((bytes / 1024 ** power) * 10) / 10;
    return `${formatFloat(size, { digits: [false, 1], trailingZeros: false })} ${units[power]}`;
}

/** Digits from which a number may be rounded. */
const LONG = /\d{16}/;
/** Not Chrome before 114, Firefox before 135, Safari before 18.4. */
const KEEPS_DIGITS = "rawJSON" in JSON;
/** Parts of the API's answers that models, servers and people make up. With all other numbers is counted. */
const MADE_UP = ["args", "result", "schema", "input_schema"];

/**
 * JSON whose long integers, such as ids of many a service, keep their digits as BigInt, as far as the browser tells them.
 *
 * @throws {SyntaxError}
 */
export function parseJson(text) {
    if (!KEEPS_DIGITS || !LONG.test(text)) {
        return JSON.parse(text);
    }
    return JSON.parse(text, (key, value, { source }) =>
        Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
            ? BigInt(source)
            : value
    );
}

/** Turns integers back into numbers, but for those of `MADE_UP`. */
function rounded(value) {
    if (value && typeof value === "object") {
        for (const [key, one] of Object.entries(value)) {
            value[key] = MADE_UP.includes(key) ? one : rounded(one);
        }
    }
    return typeof value === "bigint" ? Number(value) : value;
}

/**
 * An answer of the API: long integers keep their digits, as in `parseJson`, in what is only shown or sent back.
 *
 * @throws {SyntaxError}
 */
export function parseAnswer(text) {
    const answer = parseJson(text);
    return LONG.test(text) ? rounded(answer) : answer;
}

/**
 * For what is sent as a person has written it.
 *
 * @throws {SyntaxError} also where this browser would round an integer
 */
export function parseUnrounded(text) {
    if (!KEEPS_DIGITS && LONG.test(text)) {
        throw new SyntaxError("a number is too long");
    }
    return parseJson(text);
}

/** @param {string|number} [indentation] see `JSON.stringify` */
export function writeJson(value, indentation) {
    const write = (key, one) => (typeof one === "bigint" ? JSON.rawJSON(String(one)) : one);
    return JSON.stringify(value, write, indentation);
}

/**
 * A text of JSON with indentation, its numbers as they stand in it.
 *
 * @throws {SyntaxError}
 */
function indentJson(text) {
    if (!KEEPS_DIGITS) {
        return LONG.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2);
    }
    const keep = (key, value, { source }) =>
        typeof value === "number" ? JSON.rawJSON(source) : value;
    return JSON.stringify(JSON.parse(text, keep), null, 2);
}

/** What `read` makes of JSON that came as a string; all else as it is. */
function ofJson(text, read) {
    if (typeof text !== "string" || !/^\s*[[{]/.test(text)) {
        return text;
    }
    try {
        return read(text);
    } catch {
        return text;
    }
}

/** JSON that came as a string as what it means; all else as it is. */
export function parseStructure(text) {
    return ofJson(text, parseJson);
}

/** A value of a tool as readable text: JSON (also when it came as a string) is indented. */
export function prettyValue(value) {
    if (value === null || value === undefined) {
        return "";
    }
    return typeof value === "string" ? ofJson(value, indentJson) : writeJson(value, 2);
}

/**
 * The beginning of a long text.
 *
 * @returns {{text: string, isCut: boolean, lines: number}} `lines` of the whole text
 */
export function capText(text, { maxLines, maxChars }) {
    let lines = 1;
    let cut = text.length;
    for (let index = text.indexOf("\n"); index !== -1; index = text.indexOf("\n", index + 1)) {
        if (lines === maxLines) {
            cut = index;
        }
        lines++;
    }
    cut = Math.min(cut, maxChars);
    return { text: text.slice(0, cut), isCut: cut < text.length, lines };
}
