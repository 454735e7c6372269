import { Component, xml } from "@odoo/owl";
import { _t } from "@web/core/l10n/translation";
import { isFinal, openQuestions, runningCalls } from "./turn_state";

/** What a screen reader hears while the answer itself is still busy. */
export class TurnStatus extends Component {
    static template = xml`<div class="visually-hidden" role="status" t-out="text"/>`;
    static props = {
        /** None: nothing is said. */
        turn: { type: [Object, { value: null }], optional: true },
    };

    get text() {
        const { turn } = this.props;
        if (!turn) {
            return "";
        }
        const count = openQuestions(turn).length;
        if (count) {
            return count === 1
                ? _t("The assistant is waiting for your decision.")
                : _t("The assistant is waiting for %(count)s decisions from you.", {
                      count,
                  });
        }
        const call = runningCalls(turn).at(-1)?.call;
        if (call) {
            return _t("The assistant is using %(tool)s.", { tool: call.title || call.tool });
        }
        if (!isFinal(turn)) {
            return _t("The assistant is answering.");
        }
        if (!turn.lastSeq) {
            return "";
        }
        return turn.state === "stopped"
            ? _t("The answer was stopped.")
            : _t("The answer is complete.");
    }
}
