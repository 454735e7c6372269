import { useEffect, useRef } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";

/**
 * A form that could not be sent leads to its first field that needs attention.
 *
 * @param {() => Object<string, string>[]} getProblems by field, each an object that is replaced by a try to send
 * @returns {{sentence: string}} for beside the button; empty while nothing is wrong
 */
export function useProblems(getProblems) {
    const form = useRef("form");
    const names = () => new Set(getProblems().flatMap((problems) => Object.keys(problems)));
    useEffect(() => {
        if (names().size) {
            const field = form.el?.querySelector("[aria-invalid='true']");
            field?.focus({ preventScroll: true });
            field?.scrollIntoView({ block: "center" });
        }
    }, getProblems);
    return {
        get sentence() {
            const count = names().size;
            if (!count) {
                return "";
            }
            return count === 1
                ? _t("1 field needs attention.")
                : _t("%(count)s fields need attention.", { count });
        },
    };
}
