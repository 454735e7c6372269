import { _t } from "@web/core/l10n/translation";

/**
 * Why somebody's switch cannot be used.
 *
 * @param {{by: string, reason: string}} lock
 */
export function lockLabel(lock) {
    const by = lock.by || _t("an administrator");
    return lock.reason
        ? _t("Locked by %(by)s: %(reason)s", { by, reason: lock.reason })
        : _t("Locked by %(by)s.", { by });
}
