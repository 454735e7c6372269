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

/** @param {number|null} bytes */
export function formatSize(bytes) {
    if (bytes === null || bytes === undefined) {
        return "";
    }
    const units = ["B", "kB", "MB", "GB"];
    const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
    return `${formatFloat(bytes / 1000 ** power, { digits: [false, power ? 1 : 0] })} ${units[power]}`;
}

/** JSON that came as a string as what it means; all else as it is. */
export function parseStructure(text) {
    if (typeof text !== "string" || !/^\s*[[{]/.test(text)) {
        return text;
    }
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
}

/** A value of a tool as readable text: JSON (also when it came as a string) is indented. */
export function prettyValue(value) {
    const data = parseStructure(value);
    if (data === null || data === undefined) {
        return "";
    }
    return typeof data === "string" ? data : JSON.stringify(data, null, 2);
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
