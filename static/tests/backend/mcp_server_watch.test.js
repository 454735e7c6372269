import { animationFrame, expect, test } from "@odoo/hoot";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { McpServerWatch } from "@woow_paas_platform/backend/mcp_server_watch";

defineMailModels();

const RUN = "woow_paas_platform.assistant_test_run";

function recordOf(state, isDirty = false) {
    return {
        resModel: RUN,
        resId: 1,
        data: { state },
        isDirty: async () => isDirty,
        load: async () => expect.step(`read ${state}`),
    };
}

test("a run that may have ended meanwhile is read again, one that has ended is not", async () => {
    await mountWithCleanup(McpServerWatch, { props: { record: recordOf("running") } });
    await mountWithCleanup(McpServerWatch, { props: { record: recordOf("done") } });
    await expect.waitForSteps(["read running"]);
});

test("nothing is read over unsaved changes", async () => {
    await mountWithCleanup(McpServerWatch, { props: { record: recordOf("running", true) } });
    await animationFrame();
    expect.verifySteps([]);
});
