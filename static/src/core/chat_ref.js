/**
 * Which chat is meant: a conversation, or one that has not begun, with this assistant and cloud service.
 *
 * @typedef {Object} ChatRef
 * @property {number} [conversationId]
 * @property {number} [assistantId]
 * @property {number|null} [cloudServiceId]
 */

/** @returns {string} the same for the same chat; empty for none */
export function chatKey(chatRef) {
    if (!chatRef) {
        return "";
    }
    const { conversationId, assistantId, cloudServiceId } = chatRef;
    return conversationId
        ? `conversation-${conversationId}`
        : `assistant-${assistantId}-${cloudServiceId || 0}`;
}

/** Where the API has something of the chat, such as its `prompts`. */
export function chatUrl({ conversationId, assistantId, cloudServiceId }, what) {
    const query = cloudServiceId ? `?cloud_service_id=${cloudServiceId}` : "";
    return conversationId
        ? `/api/ai/conversations/${conversationId}/${what}`
        : `/api/ai/assistants/${assistantId}/${what}${query}`;
}
