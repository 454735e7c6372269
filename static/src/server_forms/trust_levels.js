import { _t } from "@web/core/l10n/translation";

/** What is asked before calls of a server's tools: `[value, sentence]`, the most careful first. */
export const trustLevels = () => [
    ["none", _t("Not trusted: ask before running any tool")],
    ["annotations", _t("Trust its labels: run read-only tools, ask for the rest")],
    ["full", _t("Fully trusted: ask only before destructive actions")],
];
