import { _t } from "@web/core/l10n/translation";

/** What became of the question whether a call may be made. */
export function decisionSentence(approval) {
    if (!approval?.decision) {
        return "";
    }
    const { decision, by, decisionReason } = approval;
    if (decision === "expired") {
        return _t("No decision was made in time, so the tool was not called.");
    }
    if (decision === "granted") {
        return _t("You allowed this tool earlier.");
    }
    if (decision === "deny" || decision === "denied") {
        return decisionReason
            ? _t("Denied by %(by)s: %(said)s", { by, said: decisionReason })
            : _t("Denied by %(by)s", { by });
    }
    return decision.startsWith("approve") ? _t("Allowed by %(by)s", { by }) : "";
}

/** What became of a server's question. */
export function questionSentence({ kind, server, host, decision, by }) {
    switch (decision) {
        case "accept":
            if (kind === "sign_in") {
                return _t("%(by)s signed in to %(host)s.", { by, host });
            }
            return kind === "url"
                ? _t("%(by)s visited %(host)s.", { by, host })
                : _t("%(by)s answered the question from %(server)s.", { by, server });
        case "decline":
            return _t("%(by)s declined the request from %(server)s.", { by, server });
        case "expired":
            return _t("The question from %(server)s was not answered in time.", { server });
    }
    return _t("The question from %(server)s was not answered.", { server });
}
