import { describe, expect, test } from "@odoo/hoot";
import { patchWithCleanup } from "@web/../tests/web_test_helpers";
import { localization } from "@web/core/l10n/localization";
import {
    formatSize,
    parseAnswer,
    parseJson,
    parseUnrounded,
    prettyValue,
    writeJson,
} from "@woow_paas_platform/core/format";

describe.current.tags("headless");

const LONG = '{"id":1234567890123456789,"of":[-9223372036854775808,"1234567890123456789"],"n":0.5}';

test("long integers keep their digits on the way in and out", () => {
    expect(String(parseJson(LONG).id)).toBe("1234567890123456789");
    expect(writeJson(parseJson(LONG))).toBe(LONG);
    expect(writeJson(parseUnrounded(LONG))).toBe(LONG);
});

test("what is above a limit never reads like it", () => {
    patchWithCleanup(localization, { decimalPoint: ".", grouping: [3, 0], thousandsSep: "," });
    const limit = 8 * 1024 * 1024;
    const sizes = [0, 512, 50_000, limit - 1, limit, limit + 1];
    expect(sizes.map(formatSize)).toEqual(["0 B", "512 B", "48.9 kB", "8 MB", "8 MB", "8.1 MB"]);
});

test("all other numbers are numbers", () => {
    const text = "[9007199254740991,1.5,12345678901234567.5,1e20,-1]";
    expect(parseJson(text).map((value) => typeof value)).toEqual(Array(5).fill("number"));
});

test("of an answer only what is shown or sent back has long integers", () => {
    const { args, progress, calls } = parseAnswer(
        '{"args":{"id":1234567890123456789},"progress":1234567890123456789,' +
            '"calls":[{"size":1234567890123456789,"result":[1234567890123456789]}]}'
    );
    expect(String(args.id)).toBe("1234567890123456789");
    expect(progress).toBe(Number("1234567890123456789"));
    expect(calls[0].size).toBe(progress);
    expect(String(calls[0].result[0])).toBe("1234567890123456789");
});

test("what people read is indented, with its numbers as they stand", () => {
    expect(prettyValue('{"id":1234567890123456789,"price":100.00}')).toBe(
        '{\n  "id": 1234567890123456789,\n  "price": 100.00\n}'
    );
});

test("what is no JSON is refused, and read as it is", () => {
    const text = "{1234567890123456789";
    for (const read of [parseJson, parseUnrounded]) {
        expect(() => read(text)).toThrow(SyntaxError);
    }
    expect(prettyValue(text)).toBe(text);
});
