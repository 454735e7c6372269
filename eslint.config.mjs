// Odoo's own rules for its JavaScript (web/tooling), as a flat configuration.
import { createRequire } from "node:module";
import { URL } from "node:url";

// The packages lie in .dev, so that nothing generated stands beside the addon's files.
const require = createRequire(new URL(".dev/node_modules/index.js", import.meta.url));
const js = require("@eslint/js");
const globals = require("globals");

export default [
    js.configs.recommended,
    {
        files: ["static/**/*.js"],
        languageOptions: {
            ecmaVersion: 2022,
            sourceType: "module",
            globals: {
                ...globals.browser,
                odoo: "readonly",
                luxon: "readonly",
                DOMPurify: "readonly",
                Prism: "readonly",
            },
        },
        rules: {
            "no-undef": "error",
            "no-restricted-globals": ["error", "event", "self"],
            "no-duplicate-imports": "error",
            "no-unused-vars": ["error", { vars: "all", args: "none", caughtErrors: "all" }],
            curly: ["error", "all"],
            eqeqeq: ["error", "always"],
            // `export function*` breaks Odoo's bundle, which rewrites exports line by line.
            "no-restricted-syntax": [
                "error",
                "PrivateIdentifier",
                "ExportNamedDeclaration > FunctionDeclaration[generator=true]",
            ],
            "prefer-const": ["error", { destructuring: "all", ignoreReadBeforeAssign: true }],
            "arrow-body-style": ["error", "as-needed"],
        },
    },
    {
        files: ["dev/**/*.cjs"],
        languageOptions: { sourceType: "commonjs", globals: globals.node },
    },
    {
        files: ["dev/**/*.mjs"],
        languageOptions: { ecmaVersion: 2022, sourceType: "module", globals: globals.node },
    },
];
