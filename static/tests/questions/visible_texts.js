// Texts and what `visible` makes of them, in JavaScript and in Python: tests/core/test_text.py reads them as JSON.

// prettier-ignore
export const VISIBLE_TEXTS = [
    ["plain", "plain"],
    ["  Two\nlines \t here  ", "Two lines here"],
    ["Pay 1                    0", "Pay 1 [␣×20] 0"],
    ["Pay 1         0", "Pay 1 0"],
    ["Main street 1\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0\u00a0IBAN", "Main street 1 [␣×10] IBAN"],
    ["a\u2003\u3000\u2003\u3000\u2003\u3000\u2003\u3000\u2003\u3000b", "a [␣×10] b"],
    ["a\n\n\n\n\n\n\n\n\n\n\n\nb", "a [␣×12] b"],
    ["a\r\nb\rc", "a b c"],
    ["0\u200b\u200b!", "0[U+200B×2]!"],
    ["a\u200b\u00adb", "a[U+200B][U+00AD]b"],
    ["a\u2800\u2800b", "a[U+2800×2]b"],
    ["pay\u202egnp.exe", "pay[U+202E]gnp.exe"],
    ["null\u0000 bell\u0007", "null[U+0000] bell[U+0007]"],
    ["a \ufeff b", "a [U+FEFF] b"],
    ["a\u001c\u001cb", "a b"],
    ["hi\udb40\udc69\udb40\udc69", "hi[U+E0069×2]"],
    ["a\u200cb", "a[U+200C]b"],
    ["\ud83d\udc69\u200d\ud83d\udc69\u200d\ud83d\udc67", "\ud83d\udc69\u200d\ud83d\udc69\u200d\ud83d\udc67"],
    ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
    ["lone \ud800 surrogate", "lone [U+D800] surrogate"],
    ["\u5929\u6c23\uff1a\u6674 \ud83d\udc4d\ufe0f", "\u5929\u6c23\uff1a\u6674 \ud83d\udc4d\ufe0f"]
];
