import { _t } from "@web/core/l10n/translation";
import { useService } from "@web/core/utils/hooks";

/**
 * Odoo's own composer with an answer of the chat in it: the person edits and sends it.
 *
 * @returns {(record: {model, id}, html: string, options: {isNote: boolean}) => Promise<void>}
 */
export function useAnswerPoster() {
    const action = useService("action");
    const store = useService("mail.store");

    function composer({ model, id }, html, isNote) {
        return {
            type: "ir.actions.act_window",
            name: isNote ? _t("Log as Note") : _t("Send as Message"),
            res_model: "mail.compose.message",
            views: [[false, "form"]],
            target: "new",
            context: {
                clicked_on_full_composer: true, // shows the followers as recipients
                default_model: model,
                default_res_ids: [id],
                default_body: html,
                default_subtype_xmlid: isNote ? "mail.mt_note" : "mail.mt_comment",
            },
        };
    }

    return ({ model, id }, html, { isNote }) =>
        action.doAction(composer({ model, id }, html, isNote), {
            onClose: () => store.Thread.get({ model, id })?.fetchNewMessages(),
        });
}
