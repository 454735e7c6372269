import { registry } from "@web/core/registry";
import { charField, CharField } from "@web/views/fields/char/char_field";
import { openDialog } from "../backend/server_dialogs";

/** The name of a model, with a list of those that the provider of the form offers. */
export class ModelField extends CharField {
    static template = "woow_paas_platform.ModelField";

    /** What stands in the form, saved or not; without a new key the stored one is used. */
    get provider() {
        const { resId, data } = this.props.record;
        return {
            ...(resId ? { provider_id: resId } : {}),
            ...(data.api_key ? { api_key: data.api_key } : {}),
            api_base_url: data.api_base_url || "",
        };
    }

    async onChoose() {
        const { record, name } = this.props;
        await record.isDirty(); // what was typed last is in the record now
        await this.open({
            provider: this.provider,
            current: record.data[name] || "",
            onChosen: (model) => record.update({ [name]: model }),
        });
    }

    open(props) {
        return openDialog(this.env, "ModelChoice", props);
    }
}

export const modelField = { ...charField, component: ModelField };

registry.category("fields").add("woow_model_name", modelField);
