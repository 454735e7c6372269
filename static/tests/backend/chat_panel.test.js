import { expect, test } from "@odoo/hoot";
import { chatPanelService } from "@woow_paas_platform/backend/chat_panel";

test("what was read anywhere is new no more", () => {
    const handlers = {};
    const panel = chatPanelService.start(
        { services: {} },
        {
            action: {},
            orm: {},
            bus_service: { subscribe: (event, handler) => (handlers[event] = handler) },
            notification: { add: () => () => {} },
            title: { setCounters: () => {} },
        }
    );
    const at = new Date(Date.now() + 60_000).toISOString();
    handlers["woow_ai/turn_ended"]({ conversation_id: 5, name: "", assistant: "", at });
    expect([...panel.unseen]).toEqual([5]);
    handlers["woow_ai/seen"]({ conversation_id: 5 });
    expect(panel.unseen.size).toBe(0);
});
