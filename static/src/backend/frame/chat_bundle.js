/** The chat, its state and what Discuss shows of turns; the backend loads it when one of them is shown. */
export const CHAT_BUNDLE = "woow_paas_platform.assets_chat_backend";
