import { onWillUnmount, useEffect, useExternalListener, useState } from "@odoo/owl";

/** Pixels from the end that still count as "at the end". */
const SLACK = 48;
/** What waits for the person. */
const WAITING = ".o_ai_chat_question, .o_ai_chat_approval";

/**
 * Keeps a scrolled element at its end while its content grows, as long as the person is there;
 * who has scrolled away is never pulled back, and nothing moves under a pointer that is pressed.
 *
 * @param {{el: HTMLElement}} scrollRef the element that scrolls
 * @param {{el: HTMLElement}} contentRef what grows inside it
 */
export function useStickToBottom(scrollRef, contentRef) {
    const state = useState({ isAtBottom: true });
    let isHeld = false;
    let isPressed = false;
    let fromEnd = null;
    let shown = null; // what waits for the person, once it was brought into view
    let observer = null;

    function measure() {
        const el = scrollRef.el;
        state.isAtBottom = el.scrollHeight - el.scrollTop - el.clientHeight <= SLACK;
    }

    function toBottom() {
        const el = scrollRef.el;
        if (el) {
            el.scrollTop = el.scrollHeight;
            state.isAtBottom = true;
        }
    }

    /**
     * Scrolls as far down as the head of what waits for the person allows. Once that head was in view, it never
     * scrolls up again: the person may be at the end of a long form.
     */
    function follow() {
        const el = scrollRef.el;
        const waiting = contentRef.el?.querySelector(WAITING);
        const end = el.scrollHeight - el.clientHeight;
        const head = waiting
            ? el.scrollTop + waiting.getBoundingClientRect().top - el.getBoundingClientRect().top
            : end;
        const wanted = Math.min(end, head);
        el.scrollTop = waiting && waiting === shown ? Math.max(el.scrollTop, wanted) : wanted;
        shown = waiting;
        measure();
    }

    function onGrow() {
        if (!scrollRef.el || isPressed) {
            return;
        }
        if (isHeld) {
            isHeld = false;
            measure();
        } else if (state.isAtBottom) {
            follow();
        }
    }

    /** Nothing pulls the view away from there. */
    function scrollBy(pixels) {
        scrollRef.el.scrollTop += pixels;
        measure();
    }

    /** A click counts where it began: what has grown meanwhile is followed after it. */
    function release() {
        if (isPressed) {
            isPressed = false;
            setTimeout(onGrow);
        }
    }

    function press() {
        isPressed = true;
    }

    useExternalListener(window, "pointerup", release);
    useExternalListener(window, "pointercancel", release);
    useEffect(
        (el, content) => {
            if (!el || !content) {
                return;
            }
            observer = new ResizeObserver(onGrow);
            observer.observe(content);
            observer.observe(el);
            el.addEventListener("scroll", measure, { passive: true });
            el.addEventListener("pointerdown", press, { passive: true });
            return () => {
                observer.disconnect();
                el.removeEventListener("scroll", measure);
                el.removeEventListener("pointerdown", press);
            };
        },
        () => [scrollRef.el, contentRef.el]
    );
    onWillUnmount(() => observer?.disconnect());

    return {
        state,
        toBottom,
        scrollBy,
        /** Brings an element or a range to the middle. */
        show(place) {
            const el = scrollRef.el;
            const { top } = place.getBoundingClientRect();
            scrollBy(top - el.getBoundingClientRect().top - el.clientHeight / 2);
        },
        /** The next growth is what the person unfolded: show it where it is. */
        hold() {
            isHeld = true;
        },
        /** Remembers what is in view, before content is added above it. */
        mark() {
            const el = scrollRef.el;
            fromEnd = el.scrollHeight - el.scrollTop;
        },
        /** Brings what was in view at the mark back, once the content above is there. */
        restore() {
            if (fromEnd !== null) {
                scrollRef.el.scrollTop = scrollRef.el.scrollHeight - fromEnd;
                fromEnd = null;
            }
        },
    };
}
