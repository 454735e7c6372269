// Texts and what a cell of a CSV file holds of them, in JavaScript and in Python: tests/core/test_text.py reads them as
// JSON.

// prettier-ignore
export const CSV_CELLS = [
    ["", ""],
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["@a", "'@a"],
    ["-cmd", "'-cmd"],
    ["-1,234.5", "-1,234.5"],
    ["-5 %", "-5 %"],
    ["a-b", "a-b"],
    ["a;=cmd", "a;'=cmd"],
    ["a\t@b; -c", "a\t'@b;' -c"],
    ["a\n=b", "a\n'=b"],
    ["a;b", "a;b"],
    ["-1;-2\n\n3", "-1;-2\n\n3"],
    ["＝1+1", "'＝1+1"],
    ["＋1", "'＋1"],
    ["－cmd", "'－cmd"],
    ["＠a", "'＠a"],
    ["﹦a", "'﹦a"],
    [" =1", "' =1"],
    ["\u00a0@a", "'\u00a0@a"],
    ["\ufeff=1", "'\ufeff=1"],
    ["\u200b=1", "'\u200b=1"],
    ["\u0000=1", "'\u0000=1"],
    ["\n=1", "'\n'=1"],
    ["\n1", "'\n1"],
    ["　＝1", "'　＝1"],
    [" -5", " -5"],
    ["－5", "－5"],
    ["-\u0663", "'-\u0663"],
    [" a", " a"],
    ["1 = 1", "1 = 1"]
];
