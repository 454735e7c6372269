import { useEffect } from "@odoo/owl";

/** Name of the highlight in the style sheet. */
const HIGHLIGHT = "o-ai-chat-found";
/** What people and assistants have said; names, moments and buttons are not searched. */
const SAID = ".o_ai_chat_bubble, .o_ai_chat_html";
/** Places that are marked. */
const MAX_MARKS = 200;
/** Pages of earlier messages that are read for a place that is not among the latest. */
const MAX_PAGES = 20;

function textNodes(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) {
        nodes.push(walker.currentNode);
    }
    return nodes;
}

/** Without case, and of the same length: a place in it is one in the text. */
function folded(text) {
    const lower = (letter) => {
        const folded = letter.toLowerCase();
        return folded.length === letter.length ? folded : letter;
    };
    return text.replace(/\s/g, " ").replace(/\p{Lu}/gu, lower);
}

function placeOf(nodes, at) {
    let start = 0;
    for (const node of nodes) {
        if (at <= start + node.length) {
            return [node, at - start];
        }
        start += node.length;
    }
}

/** @returns {Range[]} where an element says the words, from its end */
export function rangesOf(root, words) {
    const nodes = textNodes(root);
    const text = folded(nodes.map(({ data }) => data).join(""));
    const sought = folded(words);
    const ranges = [];
    let at = text.lastIndexOf(sought);
    while (at !== -1 && ranges.length < MAX_MARKS) {
        const range = new Range();
        range.setStart(...placeOf(nodes, at));
        range.setEnd(...placeOf(nodes, at + sought.length));
        ranges.push(range);
        at = at ? text.lastIndexOf(sought, at - 1) : -1;
    }
    return ranges;
}

/**
 * Marks the words with which the list was searched, and shows the latest place once, also among earlier messages.
 *
 * @param {{el: HTMLElement}} contentRef
 * @param {Object} options
 * @param {() => {words: string, isSaid: boolean}|null} options.getSearch another object for each opening
 * @param {() => import("./watched_thread").WatchedThread} options.getThread
 * @param {() => void} options.loadMore
 * @param {(range: Range) => void} options.show
 */
export function useFoundWords(contentRef, { getSearch, getThread, loadMore, show }) {
    let sought = null;
    let shown = null;
    let pages = 0;

    function find(search) {
        const said = [...contentRef.el.querySelectorAll(SAID)].reverse();
        return said.flatMap((root) => rangesOf(root, search.words)).slice(0, MAX_MARKS);
    }

    function mark(search) {
        const { isLoaded, hasMore } = getThread();
        if (search !== sought) {
            sought = search;
            pages = 0; // also where the one before was left in the middle
        }
        if (!search || !isLoaded) {
            return;
        }
        const ranges = find(search);
        window.CSS.highlights?.set(HIGHLIGHT, new window.Highlight(...ranges));
        if (search !== shown) {
            if (ranges.length || !search.isSaid || !hasMore || pages === MAX_PAGES) {
                shown = search;
            }
            if (ranges.length) {
                show(ranges[0]);
            } else if (search !== shown) {
                pages++;
                loadMore();
            }
        }
        return () => window.CSS.highlights?.delete(HIGHLIGHT);
    }

    useEffect(mark, () => {
        const { isLoaded, messages } = getThread();
        return [getSearch(), isLoaded, messages.length, messages[0]?.key];
    });
}
