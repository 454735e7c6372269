import { onWillUnmount, useEffect, useExternalListener } from "@odoo/owl";
import { keepInTab, readFromTab } from "../core/tab_storage";

const STORAGE_KEY = "woow_paas_platform.ai_chat.places";
/** Conversations whose places are kept, the newest ones. */
const MAX_PLACES = 100;
/** What waits for the person is seen first. */
const WAITING = ".o_ai_chat_question, .o_ai_chat_approval";

/**
 * Opens a conversation where the person left it in this tab, unless something was said since or waits for a word.
 *
 * @param {{el: HTMLElement}} scrollRef the element that scrolls
 * @param {{el: HTMLElement}} contentRef its messages are the last children
 * @param {Object} options
 * @param {() => import("../thread/watched_thread").WatchedThread} options.getThread
 * @param {() => boolean} options.isSought something else is shown first
 * @param {ReturnType<import("./stick_to_bottom").useStickToBottom>} options.stick
 */
export function useLeftPlace(scrollRef, contentRef, { getThread, isSought, stick }) {
    let isPlaced = false;
    let provisional = null; // key of the last known message, until it is known whether there are later ones

    const topOf = (el) => el.getBoundingClientRect().top - scrollRef.el.getBoundingClientRect().top;

    /** The first message in view, counted from the last one, which stays the same when earlier ones are loaded. */
    function place() {
        const shown = [...contentRef.el.children].reverse();
        const fromEnd = shown.findIndex((el) => topOf(el) <= 0);
        return fromEnd > -1 && { fromEnd, top: topOf(shown[fromEnd]) };
    }

    function leave() {
        const { id, messages } = getThread();
        if (!isPlaced || !scrollRef.el || !messages.length) {
            return;
        }
        const places = readFromTab(STORAGE_KEY);
        delete places[id];
        const kept = Object.entries(places).slice(1 - MAX_PLACES);
        const left = !stick.state.isAtBottom && place();
        if (left) {
            kept.push([id, { ...left, last: messages.at(-1).key }]);
        }
        keepInTab(STORAGE_KEY, Object.fromEntries(kept));
    }

    function open() {
        const { id, messages, isLoaded, isRunning } = getThread();
        if (!isLoaded || !messages.length) {
            return;
        }
        isPlaced = true;
        const left = readFromTab(STORAGE_KEY)[id];
        const { children } = contentRef.el;
        const el = left && children[children.length - 1 - left.fromEnd];
        const isAsked = isRunning || contentRef.el.querySelector(WAITING);
        if (el && left.last === messages.at(-1).key && !isAsked && !isSought()) {
            stick.scrollBy(topOf(el) - left.top);
            provisional = left.last;
        }
    }

    /** What was known is shown at once; then the server tells what was said since. */
    function update(isLoaded, isLoading, last) {
        if (!isPlaced) {
            open();
        } else if (provisional && last !== provisional) {
            stick.toBottom();
            provisional = null;
        }
        if (!isLoading) {
            provisional = null;
        }
    }

    useEffect(update, () => {
        const { isLoaded, isLoading, messages } = getThread();
        return [isLoaded, isLoading, messages.at(-1)?.key];
    });
    useExternalListener(window, "pagehide", leave);
    onWillUnmount(leave);
}
